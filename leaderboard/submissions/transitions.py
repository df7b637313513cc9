"""Changes of a submission's state: one verb per edge of `states.EDGES`.

Each is one UPDATE that names the old state, one Event and one ledger entry in one transaction, and returns whether it
won; who comes second gets False and does nothing. Locks are taken in one order everywhere: quota row, submission row,
ledger head. What follows from a change (messages, mails) is the caller's, after the commit.
"""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.ledger import services as ledger
from leaderboard.submissions import quota
from leaderboard.submissions.models import Event, QuotaAccount, State, Submission
from leaderboard.submissions.states import BEFORE_START, EDGES, waiting

Payment = Callable[[QuotaAccount, Submission], None]


def start_audit(submission: Submission) -> bool:
    """received → auditing."""
    return _move(submission, State.RECEIVED, State.AUDITING, "The audit reads the script.")


def restart_audit(submission: Submission) -> bool:
    """auditing → received: the audit did not come to its end, which is ours."""
    return _move(submission, State.AUDITING, State.RECEIVED, "The audit was not finished (ours); it starts again.")


def give_up_audit(submission: Submission) -> bool:
    """received → errored: the audit never answered. The place in the quota is given back."""
    sentence = "The audit could not be carried out; this is ours, and your quota is untouched."
    return _move(
        submission, State.RECEIVED, State.ERRORED, sentence, code="audit_unavailable", pay=_refund("audit_unavailable")
    )


def reject(submission: Submission, *, code: str, reason: str) -> bool:
    """auditing → rejected; free."""
    return _move(submission, State.AUDITING, State.REJECTED, reason, code=code, pay=_release("rejected"))


def ask_organizer(submission: Submission, *, code: str, reason: str) -> bool:
    """auditing → in_review."""
    return _move(submission, State.AUDITING, State.IN_REVIEW, reason, code=code)


def accept(submission: Submission) -> bool:
    """auditing → accepted; charged."""
    return _move(submission, State.AUDITING, State.ACCEPTED, "The audit found nothing that stops it.", pay=quota.charge)


def accept_reviewed(submission: Submission, *, organizer: User) -> bool:
    """in_review → accepted, by an organizer; charged."""
    sentence = "An organizer looked at it and accepted it."
    return _move(submission, State.IN_REVIEW, State.ACCEPTED, sentence, actor=organizer, pay=quota.charge)


def reject_reviewed(submission: Submission, *, organizer: User, reason: str) -> bool:
    """in_review → rejected, by an organizer; free."""
    return _move(
        submission,
        State.IN_REVIEW,
        State.REJECTED,
        reason,
        code="organizer",
        actor=organizer,
        pay=_release("rejected"),
    )


def queue(submission: Submission, *, runs: int) -> bool:
    """accepted → queued."""
    message = "Waiting for a free host." if runs == 1 else f"{runs} runs wait for a free host."
    return _move(submission, State.ACCEPTED, State.QUEUED, message)


def start(submission: Submission) -> bool:
    """queued → running: the first attempt is leased."""
    return _move(submission, State.QUEUED, State.RUNNING, "Training.")


def begin_scoring(submission: Submission) -> bool:
    """running → scoring: every run is sealed."""
    return _move(submission, State.RUNNING, State.SCORING, "The checkpoint is sealed; the scorer measures it.")


def rank(submission: Submission, *, mean: float, sd: float | None, n: int) -> bool:
    """scoring → ranked, with the mean and spread (bits per byte) of its n finite public scores."""
    fields = {"mean_bpb": mean, "sd_bpb": sd, "n_scores": n, "ranked_at": timezone.now()}
    return _move(submission, State.SCORING, State.RANKED, "On the board.", fields=fields)


def fail(submission: Submission, old: State, *, code: str, reason: str) -> bool:
    """queued, running or scoring → failed: the script's own end. Stays charged."""
    return _move(submission, old, State.FAILED, reason, code=code)


def error(submission: Submission, old: State, *, code: str, reason: str) -> bool:
    """queued, running or scoring → errored: ours. Refunded."""
    return _move(submission, old, State.ERRORED, reason, code=code, pay=_refund(code))


def withdraw(submission: Submission, old: State, *, actor: User) -> bool:
    """any living state or ranked → withdrawn, by the team. Before the start the place is given back."""
    pay = _release("withdrawn") if old in BEFORE_START else None
    return _move(submission, old, State.WITHDRAWN, "Withdrawn by its team.", code="withdrawn", actor=actor, pay=pay)


def look_again(submission: Submission) -> bool:
    """Move the deadline of a submission that stays where it is; of several reapers one wins and acts."""
    due = waiting(State(submission.state))
    if due is None or due.look_after is None:
        return False
    same = Submission.objects.filter(pk=submission.pk, state=submission.state, deadline=submission.deadline)
    return bool(same.update(deadline=timezone.now() + due.look_after))


def _refund(cause: str) -> Payment:
    return lambda account, submission: quota.refund(account, submission, cause)


def _release(cause: str) -> Payment:
    return lambda account, submission: quota.release(account, submission, cause)


def _move(
    submission: Submission,
    old: State,
    new: State,
    message: str,
    *,
    code: str = "",
    actor: User | None = None,
    pay: Payment | None = None,
    fields: dict[str, Any] | None = None,
) -> bool:
    if new not in EDGES[old]:
        raise ValueError(f"no edge leads from {old} to {new}")
    now, due = timezone.now(), waiting(new)
    deadline = now + due.look_after if due and due.look_after else None
    with transaction.atomic():
        account = quota.lock(submission.team, submission.phase) if pay else None
        changed = Submission.objects.filter(pk=submission.pk, state=old).update(
            state=new,
            changed=now,
            deadline=deadline,
            reason_code=code,
            reason=message if code else "",
            **(fields or {}),
        )
        if not changed:
            return False
        if pay and account:
            pay(account, submission)
        Event.objects.create(
            submission=submission, at=now, kind="state", state=new, message=message, data=_data(code), actor=actor
        )
        who = {"actor": actor.pk} if actor else {}
        ledger.append(
            kind=f"submission.{new}",
            subject=f"submission:{submission.pk}",
            data={"from": old.value, "to": new.value, **_data(code), **who},
        )
    submission.refresh_from_db(fields=["state", "changed", "deadline", "reason_code", "reason", *(fields or {})])
    return True


def _data(code: str) -> dict[str, str]:
    return {"code": code} if code else {}
