"""Reads the archive again under another policy or ruleset, one submission at a time.

Each is read as the pipeline reads it, in the limited process, with its launch command and its team's version before it.
What was read under the wanted rules is passed over, so a second round does nothing and one that was interrupted goes
on. At any moment one script and two reports are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

import reviewer
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Policy
from leaderboard.submissions import reaudits
from leaderboard.submissions.background import context_of
from leaderboard.submissions.models import Report, Submission
from leaderboard.submissions.reaudits import Change
from reviewer.report import RULESET

AT_ONCE = 500  # ids


@dataclass(frozen=True)
class Wanted:
    """Under what is read: `row`, a policy of the competition; `trial`, one that no database has; else each its own."""

    row: Policy | None = None
    trial: reviewer.Policy | None = None


@dataclass(frozen=True)
class Read:
    """What came of one submission: what changed, or in `fault` why it could not be read.

    `look`: an organizer is, or would be, asked to look again; `stands`: it was rejected and would not be now.
    `kept` is false where nothing was written.
    """

    submission: Submission
    change: Change | None = None
    look: bool = False
    stands: bool = False
    kept: bool = False
    fault: str = ""


def archive(competition: Competition, phases: Sequence[str]) -> QuerySet[Submission]:
    """Return what has been audited and not been taken back, in the order in which it was sent."""
    rows = Submission.objects.filter(phase__competition=competition, state__in=reaudits.READ_AGAIN)
    if phases:
        rows = rows.filter(phase__slug__in=phases)
    return rows.filter(Exists(Report.objects.filter(submission=OuterRef("pk")))).order_by("pk")


def to_read(competition: Competition, wanted: Wanted, phases: Sequence[str]) -> QuerySet[Submission]:
    """Return what of the archive has not been read under the wanted rules by its newest report."""
    rows = archive(competition, phases)
    if wanted.trial is not None:
        return rows
    newest = Report.objects.filter(submission=OuterRef("pk")).order_by("-pk")
    rows = rows.annotate(ruleset=Subquery(newest.values("ruleset")[:1]))
    done = rows.filter(ruleset=RULESET)
    if wanted.row is not None:
        under = Coalesce(Subquery(newest.values("policy")[:1]), F("policy_id"), output_field=BigIntegerField())
        done = done.annotate(under=under).filter(under=wanted.row.pk)
    return rows.exclude(pk__in=done.values("pk"))


def read(
    competition: Competition, wanted: Wanted, phases: Sequence[str] = (), *, apply: bool = False, by: User | None = None
) -> Iterator[Read]:
    """Read what is to be read and yield what came of each; only with `apply` anything is written."""
    rows, last = to_read(competition, wanted, phases), 0
    while ids := list(rows.filter(pk__gt=last).values_list("pk", flat=True)[:AT_ONCE]):
        for last in ids:
            if one := _read(last, wanted, by if apply else None, apply):
                yield one


def _read(pk: int, wanted: Wanted, by: User | None, apply: bool) -> Read | None:
    """Read one; None where meanwhile there is nothing to read again, or somebody else has done it."""
    rows = Submission.objects.select_related("phase__competition", "team", "policy")
    submission = rows.get(pk=pk)
    before = submission.reports.select_related("policy").latest()
    row = wanted.row or before.policy or submission.policy
    policy = wanted.trial or reviewer.Policy.from_mapping(row.body)
    try:
        launch = reviewer.LaunchFacts.of(submission.launch_spec)
        script, context = bytes(submission.script), context_of(submission)
        found = reviewer.review(script, policy, launch=launch, context=context)
    except reviewer.ReviewerFault as fault:
        return Read(submission, fault=str(fault))
    if apply:
        kept = reaudits.keep(submission, before, found, row, by)
        if kept is None:
            return None
        submission.refresh_from_db(fields=["state", "reason_code"])
        return Read(submission, kept.change, kept.look, reaudits.may_stand(submission), True)
    change = reaudits.compare(before.body, found.to_json())
    stands = reaudits.rejected_by_audit(submission) and change.now != "reject"
    return Read(submission, change, reaudits.asks_for_a_look(submission, change), stands)
