"""Reopens the runs of a submission that an organizer sent back to the queue.

Nothing is erased and nothing is drawn anew: seeds stay, a sealed checkpoint is scored again and not trained again, a
finished attempt that nobody has acted on yet still counts, and numbers of attempts go on. Only the limit of attempts
counts from here; from where, the ledger's entry of the reopening says.
"""

import json
from typing import Any

from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.runs.models import Attempt, Run
from leaderboard.runs.transitions import LIVING_ATTEMPT, TAKEN, locked
from leaderboard.submissions.models import Submission
from scoring.outcomes import OK

KIND = "run.reopened"
SHARDS = {Attempt.Kind.TRAIN: "", Attempt.Kind.SCORE: "public"}
ENDED_BADLY = (Run.State.FAILED, Run.State.ERRORED)


def reopen_runs(*, submission: Submission, **_: Any) -> int:
    """Let every run without a score go on from where it stands; return how many runs the submission has.

    Hears `submissions.signals.sent_back`, inside the transaction that sends the submission back.
    """
    with locked(submission.pk):
        runs = list(Run.objects.filter(submission=submission))
        for run in runs:
            if run.state != Run.State.SCORED:
                _reopen(run)
    return len(runs)


def tries(attempt: Attempt) -> int:
    """Return which try of its kind an attempt is since its run was opened, or last reopened."""
    entry = Entry.objects.filter(kind=KIND, subject=f"run:{attempt.run_id}").order_by("-seq").first()
    if entry is None or attempt.hidden:
        return attempt.number
    return attempt.number - int(json.loads(entry.data)["after"][attempt.kind])


def _reopen(run: Run) -> None:
    kind = Attempt.Kind.SCORE if run.checkpoint_sha256 else Attempt.Kind.TRAIN
    newest = {each: _newest(run, each) for each in Attempt.Kind}
    last = newest[kind]
    after = {each.value: last.number if last else 0 for each, last in newest.items()}
    free, taken = TAKEN[kind]
    if last and last.state in LIVING_ATTEMPT:  # not told yet that it was over: it goes on, as the first of three
        state = taken if last.state == Attempt.State.LEASED else free
        after[kind.value] = last.number - 1
    elif last and last.state == Attempt.State.FINISHED and last.cause == OK and run.state not in ENDED_BADLY:
        state = taken  # its receipt is there and nobody acted on it, since the submission was over
    else:
        state = free
        Attempt.objects.create(run=run, kind=kind, shard=SHARDS[kind], number=after[kind.value] + 1)
    Run.objects.filter(pk=run.pk).update(state=state)
    data = {"submission": run.submission_id, "from": run.state, "to": state.value, "after": after}
    ledger.append(kind=KIND, subject=f"run:{run.pk}", data=data)


def _newest(run: Run, kind: Attempt.Kind) -> Attempt | None:
    of_kind = Attempt.objects.filter(run=run, kind=kind, shard=SHARDS[kind], hidden=False)
    return of_kind.order_by("-number").first()
