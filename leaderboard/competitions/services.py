"""Write what a competition file says, and record on the ledger what can change a standing."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import rfc8785
from django.db import transaction
from django.utils import timezone

from leaderboard.competitions import seeds
from leaderboard.competitions.models import Competition, Kit, Phase, Policy, ShardSet
from leaderboard.competitions.schema import CompetitionFile, PhaseTable
from leaderboard.competitions.tomllines import Key
from leaderboard.ledger import services as ledger

# What every run of a phase has in common: changed under submissions, their scores could not be compared.
FIXED = (
    *("budget", "evaluation", "limits", "hardware", "isolation", "objective", "runs", "probes", "timezone"),
    *("rounding", "quota"),
)
PARTS = {"probes": ("strict_per_row", "repeats"), "quota": ("per",)}  # of a table of these names only this is fixed
SHOWN = ("visibility", "advance")  # what a release has opened and drawn stays so


class NotAllowed(Exception):
    """Keys of a file that ask for what must not be: (key, sentence) each."""

    def __init__(self, *problems: tuple[Key, str]) -> None:
        super().__init__(problems)
        self.problems = problems


@dataclass(frozen=True)
class Published:
    """A loaded competition and, in words, what the load changed; nothing for a file that was loaded before."""

    competition: Competition
    changes: tuple[str, ...]
    is_new: bool = False


@transaction.atomic
def publish(*, file: CompetitionFile, policy: dict[str, Any], kit_sha256: str, file_sha256: str) -> Published:
    """Make the database say what the file says; a second time changes nothing. Raises NotAllowed."""
    kit = _kit(file, kit_sha256)
    shards = ShardSet.objects.filter(name=file.shards.set).first()
    if shards is None:
        build = f"build it first: manage.py shards build --set {file.shards.set}"
        raise NotAllowed((("shards", "set"), f"there is no shard set {file.shards.set!r}; {build}"))
    # No lock of keys: an upload that holds its phase may still add a team, a row that refers to the competition.
    competition = Competition.objects.select_for_update(no_key=True).filter(slug=file.slug).first()
    # The phases' rows are locked too, as an upload locks its phase's: one that arrives now waits, and then reads the
    # new rules; one that is half in is seen here, and what is fixed by submissions stays.
    phases = Phase.objects.select_for_update(no_key=True).filter(competition=competition)
    before = {phase.slug: phase for phase in phases}
    if problems := _refused(file, shards, competition, before):
        raise NotAllowed(*problems)
    fields = {"title": file.title, "description": file.description, "kit": kit, "shards": shards}
    changes: list[str] = []
    is_new = competition is None
    if competition is None:
        competition = Competition.objects.create(slug=file.slug, file_sha256=file_sha256, **fields)
    else:
        changes += [name for name, value in fields.items() if getattr(competition, name) != value]
        Competition.objects.filter(pk=competition.pk).update(file_sha256=file_sha256, **fields)
        competition.refresh_from_db()
    if newest := _new_policy(competition, policy):
        changes.append(f"policy {newest.number}")
    if changes:
        _record(competition, file_sha256)
    wanted = {table.slug for table in file.phases}
    for slug in before.keys() - wanted:
        changes.append(_remove_phase(before[slug]))
    for position, table in enumerate(file.phases):
        changes += _save_phase(competition, before.get(table.slug), table, position)
    return Published(competition, tuple(changes), is_new)


def note_upload(phase: Phase, now: datetime) -> None:
    """Note that a phase has submissions; call it in the transaction that holds the phase's row for the upload."""
    if phase.first_upload is None:
        Phase.objects.filter(pk=phase.pk).update(first_upload=now)


def _kit(file: CompetitionFile, sha256: str) -> Kit:
    kit = Kit.objects.get_or_create(sha256=sha256, defaults={"version": file.kit.version})[0]
    if kit.version != file.kit.version:
        sentence = f"exactly these files are known as version {kit.version!r}; keep that name, or change the files"
        raise NotAllowed((("kit", "version"), sentence))
    return kit


def _refused(
    file: CompetitionFile, shards: ShardSet, competition: Competition | None, before: dict[str, Phase]
) -> list[tuple[Key, str]]:
    """Return what may not change any more, because submissions were made under it."""
    used = {slug: phase for slug, phase in before.items() if phase.first_upload}
    problems: list[tuple[Key, str]] = []
    if used and competition is not None and competition.shards_id != shards.pk:
        problems.append((("shards", "set"), f"submissions were scored on {competition.shards.name!r}, so it stays"))
    for index, table in enumerate(file.phases):
        if phase := used.pop(table.slug, None):
            old, new = phase.rules.model_dump(mode="json"), table.spec()
            for name in FIXED:
                if (was := _fixed_part(old, name)) != (now := _fixed_part(new, name)):
                    sentence = f"phase {table.slug!r} has submissions already, so this cannot change; open a new phase"
                    problems.append((("phases", index, *_first_difference(name, was, now)), sentence))
    problems += [(("phases",), f"phase {slug!r} has submissions, so it cannot be removed") for slug in used]
    return problems + _refused_after_close(file, before)


def _refused_after_close(file: CompetitionFile, before: dict[str, Phase]) -> list[tuple[Key, str]]:
    """Return what would open a phase again whose private scores somebody may know, and what a release has settled."""
    now = timezone.now()
    problems: list[tuple[Key, str]] = []
    for index, table in enumerate(file.phases):
        phase = before.get(table.slug)
        if phase is None:
            continue
        if phase.closes <= now < table.closes and (why := _stays_closed(phase)):
            problems.append((("phases", index, "closes"), f"phase {table.slug!r} {why}, so it stays closed"))
        if phase.released_at:
            old, new = phase.rules.model_dump(mode="json"), table.spec()
            problems += [
                (("phases", index, *_first_difference(name, old[name], new[name])), f"phase {table.slug!r} is released")
                for name in SHOWN
                if old[name] != new[name]
            ]
    return problems


def _stays_closed(phase: Phase) -> str:
    """Return why a closed phase takes no submissions any more, "" where it still may."""
    if phase.released_at:
        return "is released"
    # Whoever sees private scores, or only when they came in, could tell somebody what to send in next.
    begun = phase.submissions.filter(runs__attempts__hidden=True)
    return "has closed and its private shard is being scored" if begun.exists() else ""


def _fixed_part(spec: dict[str, Any], name: str) -> Any:
    """Return what of a phase's key all its runs share.

    Where probes are asked moves no published score on average; how many places a window has may grow, but windows cut
    otherwise would give places a second time.
    """
    value = spec[name]
    return {key: value[key] for key in PARTS[name]} if name in PARTS else value


def _first_difference(name: str, old: Any, new: Any) -> Key:
    if isinstance(old, dict) and isinstance(new, dict):
        return (name, next(key for key in new if old.get(key) != new[key]))
    return (name,)


def _new_policy(competition: Competition, body: dict[str, Any]) -> Policy | None:
    """Add the policy as the next version unless it is the newest one."""
    newest = competition.policies.order_by("-number").first()
    if newest is not None and newest.body == body:
        return None
    return Policy.objects.create(competition=competition, number=newest.number + 1 if newest else 1, body=body)


def _save_phase(competition: Competition, phase: Phase | None, table: PhaseTable, position: int) -> list[str]:
    fields = {
        "title": table.title,
        "position": position,
        "opens": table.opens,
        "closes": table.closes,
        "spec": table.spec(),
    }
    if phase is None:
        phase = Phase.objects.create(competition=competition, slug=table.slug, **fields)
        seeds.draw(phase)
        what = f"phase {table.slug}"
    else:
        changed = [name for name, value in fields.items() if getattr(phase, name) != value]
        if not changed:
            return []
        Phase.objects.filter(pk=phase.pk).update(**fields)
        what = f"phase {table.slug}: {', '.join(changed)}"
    ledger.append(
        kind="phase.published",
        subject=f"phase:{phase.pk}",
        data={
            "competition": competition.pk,
            "position": position,
            "opens": table.opens.isoformat(),
            "closes": table.closes.isoformat(),
            "spec_sha256": _digest(table.spec()),
            "seed_commitment": phase.seed_commitment,
        },
    )
    return [what]


def _remove_phase(phase: Phase) -> str:
    ledger.append(kind="phase.removed", subject=f"phase:{phase.pk}", data={"competition": phase.competition_id})
    phase.delete()
    return f"phase {phase.slug} removed"


def _record(competition: Competition, file_sha256: str) -> None:
    policy = competition.policies.latest("number")
    manifest = competition.shards.manifest
    ledger.append(
        kind="competition.published",
        subject=f"competition:{competition.pk}",
        data={
            "file_sha256": file_sha256,
            "kit_sha256": competition.kit.sha256,
            "policy": policy.number,
            "policy_sha256": _digest(policy.body),
            "manifest_sha256": competition.shards.manifest_sha256,
            "public_commitment": manifest["public"]["commitment"],
            "private_commitment": manifest["private"]["commitment"],
        },
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()
