"""Steps that tasks and reaper share. Each may be repeated: it finds out what is still to be done."""

from functools import partial
from typing import Protocol

from django.db import transaction
from django.db.models import Exists

from leaderboard.pipeline.endings import Ending
from leaderboard.runs import services as of_host
from leaderboard.runs import transitions as of_run
from leaderboard.runs.leases import find
from leaderboard.runs.models import Attempt, Run
from leaderboard.runs.reopening import tries
from leaderboard.submissions import transitions
from leaderboard.submissions.models import FINAL, State, Submission

ATTEMPTS = 3  # of one run and kind, since it was opened or reopened; after that the submission is errored
SEALED_OR_LATER = frozenset({Run.State.SEALED, Run.State.SCORING, Run.State.SCORED})


def load(submission_id: int) -> Submission | None:
    """Return a submission with its phase, without its script."""
    rows = Submission.objects.select_related("phase__competition__shards", "team", "kit").defer("script")
    return rows.filter(pk=submission_id).first()


def ended(attempt_id: int) -> Attempt | None:
    """Return an attempt that has ended and still decides something.

    None for one that goes on, was followed by another, or whose submission is over; of the last the rest is tidied up.
    """
    attempt = find(attempt_id)
    if attempt is None or attempt.state not in (Attempt.State.FINISHED, Attempt.State.LOST):
        return None
    if attempt.hidden:
        return attempt
    if State(attempt.run.submission.state) in FINAL:
        tidy(attempt.run.submission_id)
        return None
    same = attempt.run.attempts.filter(kind=attempt.kind, shard=attempt.shard, hidden=False)
    if same.filter(number__gt=attempt.number).exists():
        return None
    return attempt


def offer_after_commit(attempt: Attempt) -> None:
    """Offer an attempt to the agents once it is there for them to claim."""
    transaction.on_commit(partial(of_host.offer, attempt))


def first_attempt_at(run: Run, kind: Attempt.Kind, shard: str) -> None:
    """Make sure that a run has an attempt of this kind."""
    attempt = of_run.open_attempt(run, kind, shard, after=0)
    if attempt:
        offer_after_commit(attempt)


def begin_scoring(submission: Submission) -> None:
    """running → scoring once every run is sealed."""
    states = set(submission.runs.values_list("state", flat=True))
    if states and states <= SEALED_OR_LATER:
        transitions.begin_scoring(submission)


def note_use(attempt: Attempt) -> None:
    """Write what the receipt says of step and seconds where the last sign of life had left older figures."""
    of_run.note_use(attempt.run, attempt.receipt.body)


def fail(attempt: Attempt, ending: Ending) -> None:
    """Fail the run and with it the submission; what else of it is on the way stops."""
    if attempt.kind == Attempt.Kind.TRAIN and attempt.state == Attempt.State.FINISHED:
        note_use(attempt)
    of_run.end(attempt.run, Run.State.FAILED, attempt, cause=ending.code)
    _end(attempt, transitions.fail, code=ending.code, reason=ending.sentence)


def repeat(attempt: Attempt, ending: Ending) -> None:
    """Try again after an end that was ours; after the third attempt the submission is errored and refunded."""
    run, again = attempt.run, tries(attempt) < ATTEMPTS
    if attempt.state == Attempt.State.FINISHED:
        of_run.repeat(run, attempt, why=ending.sentence, again=again)
    if again:
        following = of_run.open_attempt(run, Attempt.Kind(attempt.kind), attempt.shard, after=attempt.number)
        if following:
            offer_after_commit(following)
        return
    of_run.end(run, Run.State.ERRORED, attempt, cause=ending.code)
    reason = (
        f"{ATTEMPTS} attempts at run {run.index + 1} ended on our side, the last one so: "
        f"{ending.sentence.rstrip('.')}. Your quota is refunded; send it again."
    )
    _end(attempt, transitions.error, code=ending.code, reason=reason)


def tidy(submission_id: int) -> None:
    """Cancel what waits of a submission that is over; a leased attempt hears of it at its next sign of life."""
    of_run.cancel_attempts(submission_id, only_waiting=True)
    leased = Attempt.objects.filter(run__submission_id=submission_id, hidden=False, state=Attempt.State.LEASED)
    busy = leased.exists()
    if not busy:
        of_run.cancel_runs(submission_id)


class _End(Protocol):
    """`transitions.fail` or `transitions.error`."""

    def __call__(self, submission: Submission, old: State, *, code: str, reason: str, unless: Exists) -> bool: ...


def _end(attempt: Attempt, end: _End, *, code: str, reason: str) -> None:
    """End a submission from whatever state it has got to meanwhile, unless it is over, or was sent back since."""
    submission, followed = attempt.run.submission, of_run.followed(attempt)
    while State(submission.state) not in FINAL and not end(
        submission, State(submission.state), code=code, reason=reason, unless=followed
    ):
        if ended(attempt.pk) is None:
            return
        submission.refresh_from_db(fields=["state"])
    tidy(submission.pk)
