"""Who is kin to whom: fingerprints of what was sent to a competition, and what they say of descent.

A fingerprint is kept once, right after the audit, and once more where they are made in another way since. Its kin are
found in the database by equality alone (the same bytes, the same code, a few marks in common), and only those few are
compared. Two that are kept at the same moment find each other all the same: each is looked for after the own marks are
there for everybody to see.

All of this is for organizers: nothing here is asked by what other people read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, QuerySet

from leaderboard.submissions.models import Fingerprint, Kin, Mark, Report, Submission
from reviewer.similarity import INDEXED, NEAR, VERSION, share
from reviewer.similarity import Fingerprint as Made

IN_COMMON = 4  # indexed marks; two scripts that share half of their code have at least a dozen
CANDIDATES = 60  # that are compared: of the own team, and of the others
KEPT = 12  # of either
FAMILY = 200  # submissions in a line of descent, those nearest in number first

_DOWN = """
    WITH RECURSIVE line(id) AS (
        SELECT later_id FROM submissions_kin WHERE earlier_id = %s
        UNION SELECT kin.later_id FROM submissions_kin kin JOIN line ON kin.earlier_id = line.id
    ) SELECT id FROM line ORDER BY id LIMIT %s
"""
_UP = """
    WITH RECURSIVE line(id) AS (
        SELECT earlier_id FROM submissions_kin WHERE later_id = %s
        UNION SELECT kin.earlier_id FROM submissions_kin kin JOIN line ON kin.later_id = line.id
    ) SELECT id FROM line ORDER BY id DESC LIMIT %s
"""


@dataclass(frozen=True)
class Step:
    """A submission in a line of descent, with the earlier one that it is closest to."""

    submission: Submission
    closest: Submission | None
    relation: str
    share: float
    same_team: bool  # as the one that the line is about

    @property
    def words(self) -> str:
        """How alike the two are."""
        if self.relation == Kin.Relation.NEAR:
            return f"{100 * self.share:.0f} % of the same code"
        return Kin.Relation(self.relation).label if self.relation else ""


def keep(submission: Submission, made: Made | None) -> None:
    """Keep a submission's fingerprint, once, and link its kin; None is that of a text that cannot be read.

    Of those, only the same bytes are kin. One that was made in an older way gives way; what it was kin to, it stays.
    """
    made = made or Made("", ())
    marks = struct.pack(f">{len(made.marks)}Q", *made.marks)
    values = {"code_sha256": made.code_sha256, "plain": made.plain, "marks": marks, "version": VERSION}
    with transaction.atomic():
        kept, fresh = Fingerprint.objects.get_or_create(submission=submission, defaults=values)
        if not fresh and kept.version < VERSION:
            older = Fingerprint.objects.filter(submission=submission, version=kept.version)
            fresh = older.update(**values, linked=False) == 1
            if fresh:
                Mark.objects.filter(submission=submission).delete()
        if fresh and not made.plain:
            competition = submission.phase.competition_id
            Mark.objects.bulk_create(
                Mark(competition_id=competition, submission=submission, value=mark) for mark in made.marks[:INDEXED]
            )
    with transaction.atomic():
        if not made.plain:
            link(submission, made)
        Fingerprint.objects.filter(submission=submission).update(linked=True)


def link(submission: Submission, made: Made) -> None:
    """Write down which submissions a fresh one is kin to: the closest of its team and of the others."""
    found: list[Kin] = []
    common = _in_common(submission, made)
    mine = set(Submission.objects.filter(team=submission.team_id).values_list("pk", flat=True))
    for own in (True, False):
        alike = [pk for pk in common if (pk in mine) is own][:CANDIDATES]
        near = sorted(
            _kin(submission, made, own, alike), key=lambda kin: (-kin.share, _RANK[kin.relation], kin.earlier_id)
        )
        found += near[:KEPT]
    Kin.objects.bulk_create(found, ignore_conflicts=True)


_RANK: dict[str, int] = {Kin.Relation.BYTES: 0, Kin.Relation.CODE: 1, Kin.Relation.NEAR: 2}


def _kin(submission: Submission, made: Made, own: bool, alike: list[int]) -> Iterator[Kin]:
    others = Fingerprint.objects.filter(submission__phase__competition=submission.phase.competition_id, plain=False)
    others = others.exclude(submission=submission)
    team = submission.team_id
    others = others.filter(submission__team=team) if own else others.exclude(submission__team=team)
    same = [{"submission__script_sha256": submission.script_sha256}]
    same += [{"code_sha256": made.code_sha256}] if made.code_sha256 else []
    seen: set[int] = set()
    for relation, wanted in zip((Kin.Relation.BYTES, Kin.Relation.CODE), same, strict=False):
        for pk in others.filter(**wanted).order_by("pk").values_list("pk", flat=True)[:CANDIDATES]:
            if pk not in seen:
                seen.add(pk)
                yield _pair(submission, pk, relation, 1.0)
    mine = set(made.marks)
    near = Fingerprint.objects.filter(pk__in=[pk for pk in alike if pk not in seen])
    for pk, marks in near.values_list("pk", "marks"):
        part = share(mine, numbers(marks))
        if part >= NEAR:
            yield _pair(submission, pk, Kin.Relation.NEAR, part)


def _in_common(submission: Submission, made: Made) -> list[int]:
    """Return who has some of its indexed marks, those with the most first; the index alone answers that."""
    marks = Mark.objects.filter(competition=submission.phase.competition_id, value__in=made.marks[:INDEXED])
    counted = marks.exclude(submission=submission).values("submission").annotate(common=Count("value"))
    rows = counted.filter(common__gte=IN_COMMON).order_by("-common", "submission")
    return list(rows.values_list("submission", flat=True))


def _pair(submission: Submission, pk: int, relation: Kin.Relation, alike: float) -> Kin:
    earlier, later = sorted((submission.pk, pk))
    return Kin(earlier_id=earlier, later_id=later, relation=relation, share=alike)


def numbers(marks: bytes | memoryview) -> tuple[int, ...]:
    """Return the marks of a stored fingerprint."""
    return struct.unpack(f">{len(marks) // 8}Q", marks)


def missing(reports: QuerySet[Report]) -> list[int]:
    """Return the submissions of these reports whose kin nobody has looked for yet in today's way, the oldest first."""
    kept = Fingerprint.objects.filter(submission=OuterRef("submission"), linked=True, version__gte=VERSION)
    return sorted(set(reports.exclude(Exists(kept)).order_by("submission").values_list("submission", flat=True)[:100]))


def descendants(submission: Submission, most: int = FAMILY) -> list[int]:
    """Return the ids of all that may descend from a submission, over however many steps, the earliest first."""
    return _line(_DOWN, submission, most)


def ancestors(submission: Submission) -> list[int]:
    """Return the ids of all that a submission may descend from, the earliest first."""
    return sorted(_line(_UP, submission, FAMILY))


def _line(query: str, submission: Submission, most: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(query, [submission.pk, most])
        return [pk for (pk,) in cursor.fetchall()]


def line_of(submission: Submission) -> list[Step]:
    """Return a submission's line of descent, itself in it, the earliest first; nothing where it has no kin."""
    family = {*ancestors(submission), submission.pk, *descendants(submission)}
    if len(family) == 1:
        return []
    rows = Submission.objects.filter(pk__in=family).select_related("team", "phase").defer("script").in_bulk()
    parents = _parents(family)
    return [
        Step(
            row,
            rows.get(parents[pk].earlier_id) if pk in parents else None,
            parents[pk].relation if pk in parents else "",
            parents[pk].share if pk in parents else 0.0,
            row.team_id == submission.team_id,
        )
        for pk, row in sorted(rows.items())
    ]


def _parents(family: Iterable[int]) -> dict[int, Kin]:
    """Return the closest earlier kin of each; of several that are as close, the earliest."""
    found: dict[int, Kin] = {}
    for kin in Kin.objects.filter(later__in=family, earlier__in=family).order_by("later", "-share", "earlier"):
        found.setdefault(kin.later_id, kin)
    return found
