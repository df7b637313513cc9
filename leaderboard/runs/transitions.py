"""Changes of runs and attempts: one verb per edge, each an UPDATE that names the old state.

    attempt   waiting → leased → finished | lost        waiting | leased → cancelled
    run       waiting → running → sealed → scoring → scored        and back one step when an attempt is lost
              any living state → failed | errored | cancelled

With the UPDATE go one ledger entry and, where it is news to the team, one Event of the submission, in one transaction.
That something is cancelled is none: the submission's own end says it. The submission's row is locked first, so that
locks are taken in the same order everywhere: (quota row,) submission row, ledger head. Every verb returns whether it
won. A hidden attempt goes the same way by itself: its run stays, and nothing is written of it.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists
from django.utils import timezone

from leaderboard.ledger import services as ledger
from leaderboard.runs import sentences
from leaderboard.runs.models import Agent, Attempt, Receipt, Run, Score
from leaderboard.runs.receipts import use_of
from leaderboard.submissions.models import FINAL, Event, Submission
from scoring import receipt as receipts

LIVING_RUN = (Run.State.WAITING, Run.State.RUNNING, Run.State.SEALED, Run.State.SCORING)
LIVING_ATTEMPT = (Attempt.State.WAITING, Attempt.State.LEASED)
# Where a run waits for an attempt of each kind, and where it is while a host has one.
TAKEN = {
    Attempt.Kind.TRAIN: (Run.State.WAITING, Run.State.RUNNING),
    Attempt.Kind.SCORE: (Run.State.SEALED, Run.State.SCORING),
}
USE = ("step", "charged_seconds", "startup_seconds")


@contextmanager
def locked(submission_id: int) -> Iterator[Submission]:
    """Open a transaction that holds the submission's row."""
    with transaction.atomic():
        yield Submission.objects.select_for_update().only("pk", "state").get(pk=submission_id)


def open_runs(submission: Submission, seeds: list[int]) -> list[Attempt]:
    """Create one run and its first training attempt per seed, inside the caller's transaction."""
    attempts = []
    for index, seed in enumerate(seeds):
        run = Run.objects.create(submission=submission, index=index, seed=seed)
        attempts.append(Attempt.objects.create(run=run, kind=Attempt.Kind.TRAIN, number=1))
        data = {"submission": submission.pk, "index": index, "seed_sha256": hashlib.sha256(b"%d" % seed).hexdigest()}
        ledger.append(kind="run.opened", subject=f"run:{run.pk}", data=data)
    return attempts


def open_attempt(run: Run, kind: Attempt.Kind, shard: str = "", *, after: int, hidden: bool = False) -> Attempt | None:
    """Create the attempt that follows attempt number `after` of its run and kind; None when somebody else did.

    One living attempt per run, kind and shard, hidden or not: the database holds it.
    """
    with locked(run.submission_id):
        of_kind = Attempt.objects.filter(run=run, kind=kind, shard=shard, hidden=hidden)
        if of_kind.filter(number__gt=after).exists():
            return None
        return Attempt.objects.create(run=run, kind=kind, shard=shard, hidden=hidden, number=after + 1)


def lease(attempt: Attempt, *, agent: Agent, until: datetime, **fields: Any) -> bool:
    """waiting → leased, for one agent until `until`; the run follows (waiting → running, sealed → scoring)."""
    now = timezone.now()
    free, taken = TAKEN[Attempt.Kind(attempt.kind)]
    with locked(attempt.run.submission_id):
        won = Attempt.objects.filter(pk=attempt.pk, state=Attempt.State.WAITING).update(
            state=Attempt.State.LEASED,
            agent=agent,
            leased_at=now,
            lease_until=until,
            **fields,
        )
        if not won:
            return False
        if attempt.hidden:
            return True
        fresh = dict.fromkeys(USE) if attempt.kind == Attempt.Kind.TRAIN else {}
        if not Run.objects.filter(pk=attempt.run_id, state=free).update(state=taken, **fresh):
            transaction.set_rollback(True)  # an attempt of a run that is elsewhere by now is not worth a host's time
            return False
        _record(attempt.run, "attempt.leased", sentences.begun(attempt), attempt)
    return True


def finish(attempt: Attempt, *, body: dict[str, Any], signature: str) -> bool:
    """leased → finished, with the receipt (verified by the caller) and what it says of clock and end."""
    sha256 = hashlib.sha256(receipts.canonical(body)).hexdigest()
    end = body["exit"]
    with locked(attempt.run.submission_id):
        won = Attempt.objects.filter(pk=attempt.pk, state=Attempt.State.LEASED).update(
            state=Attempt.State.FINISHED,
            ended_at=timezone.now(),
            lease_until=None,
            cause=end["code"],
            detail=end.get("detail", ""),
        )
        if not won:
            return False
        Receipt.objects.create(attempt=attempt, body=body, signature=signature, sha256=sha256)
        if not attempt.hidden:
            _record(attempt.run, "attempt.finished", "", attempt, cause=end["code"], receipt_sha256=sha256)
    return True


def lose(attempt: Attempt, *, cause: str, detail: str = "", unless_renewed: bool = False) -> bool:
    """leased → lost; the run goes back to where the next attempt can take it up.

    With `unless_renewed` a sign of life since the attempt was read saves it.
    """
    free, taken = TAKEN[Attempt.Kind(attempt.kind)]
    with locked(attempt.run.submission_id):
        held = Attempt.objects.filter(pk=attempt.pk, state=Attempt.State.LEASED)
        if unless_renewed:
            held = held.filter(lease_until=attempt.lease_until)
        won = held.update(
            state=Attempt.State.LOST, ended_at=timezone.now(), lease_until=None, cause=cause, detail=detail
        )
        if won and not attempt.hidden:
            Run.objects.filter(pk=attempt.run_id, state=taken).update(state=free)
            _record(attempt.run, "attempt.lost", sentences.lost(attempt, cause), attempt, cause=cause)
    return bool(won)


def note_use(run: Run, body: dict[str, Any]) -> None:
    """Write what a training receipt says of steps and seconds; these are the figures that the board shows."""
    Run.objects.filter(pk=run.pk).update(**use_of(body))


def repeat(run: Run, attempt: Attempt, *, why: str, again: bool) -> bool:
    """running → waiting, or scoring → sealed, after an attempt whose receipt says that the end was ours.

    `why` is the sentence for the team; `again` says whether another attempt follows.
    """
    free, taken = TAKEN[Attempt.Kind(attempt.kind)]
    return _move(run, taken, free, "run.repeated", sentences.ended_by_us(why.rstrip("."), again=again), attempt)


def cancel_attempts(submission_id: int, *, only_waiting: bool = False) -> int:
    """waiting (and, unless `only_waiting`, leased) → cancelled for a submission's attempts, hidden ones aside.

    Returns how many.
    """
    states = (Attempt.State.WAITING,) if only_waiting else LIVING_ATTEMPT
    with locked(submission_id) as submission:
        if submission.state not in FINAL:
            return 0  # an organizer has sent it back meanwhile
        living = Attempt.objects.filter(run__submission_id=submission_id, hidden=False, state__in=states)
        for pk, run in (found := list(living.order_by("pk").values_list("pk", "run"))):
            data = {"submission": submission_id, "attempt": pk}
            ledger.append(kind="attempt.cancelled", subject=f"run:{run}", data=data)
        return Attempt.objects.filter(pk__in=[pk for pk, _ in found], state__in=states).update(
            state=Attempt.State.CANCELLED, ended_at=timezone.now(), lease_until=None, cause="cancelled"
        )


def cancel_runs(submission_id: int) -> int:
    """any living state → cancelled for the runs of a submission that has ended otherwise; return how many."""
    with locked(submission_id) as submission:
        if submission.state not in FINAL:
            return 0
        living = Run.objects.filter(submission_id=submission_id, state__in=LIVING_RUN)
        for run in (found := list(living.order_by("pk").values_list("pk", flat=True))):
            ledger.append(kind="run.cancelled", subject=f"run:{run}", data={"submission": submission_id})
        return Run.objects.filter(pk__in=found, state__in=LIVING_RUN).update(state=Run.State.CANCELLED)


def seal(run: Run, attempt: Attempt, *, checkpoint_sha256: str) -> bool:
    """running → sealed: the checkpoint stands, under its hash."""
    fields = {"checkpoint_sha256": checkpoint_sha256}
    message = sentences.of_several(run, "is sealed")
    return _move(run, Run.State.RUNNING, Run.State.SEALED, "run.sealed", message, attempt, fields, **fields)


def record_score(run: Run, attempt: Attempt, numbers: dict[str, Any]) -> bool:
    """scoring → scored, with the one Score of this run and shard (nats, bytes, bits per byte)."""
    with locked(run.submission_id):
        if not Run.objects.filter(pk=run.pk, state=Run.State.SCORING).update(state=Run.State.SCORED):
            return False
        Score.objects.create(run=run, shard=attempt.shard, attempt=attempt, **numbers)
        _record(
            run,
            "run.scored",
            sentences.of_several(run, "is scored"),
            attempt,
            shard=attempt.shard,
            receipt_sha256=attempt.receipt.sha256,
        )
    run.refresh_from_db()
    return True


def end(run: Run, new: Run.State, attempt: Attempt, *, cause: str) -> bool:
    """running, waiting, sealed or scoring → failed or errored or cancelled."""
    old = Run.State(run.state)
    if old not in LIVING_RUN:
        return False
    return _move(run, old, new, f"run.{new}", "", attempt, cause=cause)


def followed(attempt: Attempt) -> Exists:
    """Return the condition that another attempt has followed: then this one's end decides nothing any more."""
    same = Attempt.objects.filter(run=attempt.run_id, kind=attempt.kind, shard=attempt.shard, hidden=attempt.hidden)
    return Exists(same.filter(number__gt=attempt.number))


def _move(
    run: Run,
    old: Run.State,
    new: Run.State,
    kind: str,
    message: str,
    attempt: Attempt,
    fields: dict[str, Any] | None = None,
    **data: Any,
) -> bool:
    with locked(run.submission_id):
        named = Run.objects.filter(pk=run.pk, state=old).exclude(followed(attempt))
        if not named.update(state=new, **(fields or {})):
            return False
        _record(run, kind, message, attempt, **data)
    run.refresh_from_db()
    return True


def _record(run: Run, kind: str, message: str, attempt: Attempt, **data: Any) -> None:
    """Write the ledger entry, and the Event where there is something to say; the submission's row is locked."""
    if message:
        submission = Submission.objects.only("pk", "state").get(pk=run.submission_id)
        facts = {"run": run.index, "attempt": attempt.number, **({"code": data["cause"]} if "cause" in data else {})}
        Event.objects.create(
            submission=submission, at=timezone.now(), kind=kind, state=submission.state, message=message, data=facts
        )
    ledger.append(
        kind=kind,
        subject=f"run:{run.pk}",
        data={"submission": run.submission_id, "attempt": attempt.pk, **data},
    )
