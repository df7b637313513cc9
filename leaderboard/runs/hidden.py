"""Writes of hidden attempts: open one, keep what it came to, call off what nobody waits for any more.

Nothing here moves a run or a submission, and nothing is written where a competitor could read it.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from leaderboard.competitions.models import Phase
from leaderboard.runs.models import Attempt, HiddenResult, Run, Score
from leaderboard.runs.transitions import LIVING_ATTEMPT, locked, open_attempt

TRIES = 3  # in a row; then one more after each pause, since a release must not hang on a host that was away
PAUSE = timedelta(hours=1)
SCORE = Attempt.Kind.SCORE


def open_next(run: Run, shard: str, now: datetime) -> Attempt | None:
    """Create the next hidden attempt of a run on a shard; None while one lives, or until a pause is over."""
    last = Attempt.objects.filter(run=run, shard=shard, hidden=True).order_by("-number").first()
    if last and last.state in LIVING_ATTEMPT:
        return None
    if last and last.number >= TRIES and last.ended_at and last.ended_at + PAUSE > now:
        return None
    return open_attempt(run, SCORE, shard, after=last.number if last else 0, hidden=True)


def record(attempt: Attempt, *, code: str, score: dict[str, Any] | None) -> bool:
    """Keep what a hidden attempt came to, once per run and shard; with `score` (fields of Score) its numbers.

    It moves a private standing and writes nothing on the ledger, so it takes the phase's row: what a release shows
    while it holds that row stays as shown.
    """
    with transaction.atomic():
        phase = Phase.objects.select_for_update(no_key=True).get(pk=attempt.run.submission.phase_id)
        if phase.released_at:
            return False  # nobody waits for it any more, and what was released stays
        return _record(attempt, code, score)


def _record(attempt: Attempt, code: str, score: dict[str, Any] | None) -> bool:
    with locked(attempt.run.submission_id):
        known = {"attempt": attempt, "code": code}
        _, fresh = HiddenResult.objects.get_or_create(run=attempt.run, shard=attempt.shard, defaults=known)
        if fresh and score is not None:
            Score.objects.create(run=attempt.run, shard=attempt.shard, attempt=attempt, **score)
    return fresh


def call_off(phase_id: int, wanted: set[tuple[int, str]]) -> int:
    """waiting → cancelled for a phase's hidden attempts at (run, shard) that are not wanted; return how many."""
    waiting = Attempt.objects.filter(run__submission__phase=phase_id, hidden=True, state=Attempt.State.WAITING)
    gone = [pk for pk, run, shard in waiting.values_list("pk", "run", "shard") if (run, shard) not in wanted]
    return Attempt.objects.filter(pk__in=gone, state=Attempt.State.WAITING).update(
        state=Attempt.State.CANCELLED, ended_at=timezone.now(), lease_until=None, cause="cancelled"
    )
