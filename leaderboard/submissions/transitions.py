"""Changes of a submission's state: one verb per edge of `states.EDGES`.

Each is one UPDATE that names the old state, one Event and one ledger entry in one transaction, and returns whether it
won; who comes second gets False and does nothing. Locks are taken in one order everywhere: quota row, submission row,
ledger head. What follows from a change (messages, mails) is the caller's, after the commit.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.ledger import services as ledger
from leaderboard.submissions import quota
from leaderboard.submissions.models import Event, QuotaAccount, State, Submission
from leaderboard.submissions.signals import sent_back
from leaderboard.submissions.states import BEFORE_START, EDGES, waiting

Payment = Callable[[QuotaAccount, Submission], None]


@dataclass(frozen=True)
class Decision:
    """Which organizer does what and why; the reason's words are for the team, the ledger has their hash."""

    organizer: User
    action: str
    reason: str = ""

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps of it."""
        kept: dict[str, Any] = {"action": self.action}
        if self.reason:
            kept["reason_sha256"] = hashlib.sha256(self.reason.encode()).hexdigest()
        return kept


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


def accept_reviewed(submission: Submission, decision: Decision) -> bool:
    """in_review → accepted, by an organizer; charged."""
    sentence = _because("An organizer looked at it and accepted it", decision)
    return _move(submission, State.IN_REVIEW, State.ACCEPTED, sentence, decision=decision, pay=quota.charge)


def reject_reviewed(submission: Submission, decision: Decision) -> bool:
    """in_review → rejected, by an organizer; free."""
    sentence = _because("Rejected by an organizer", decision)
    pay = _release("rejected")
    return _move(submission, State.IN_REVIEW, State.REJECTED, sentence, code="organizer", decision=decision, pay=pay)


def disqualify(submission: Submission, old: State, decision: Decision) -> bool:
    """queued, running, scoring or ranked → disqualified, by an organizer. Stays charged; its numbers stay with it."""
    sentence = _because("Disqualified by an organizer", decision)
    return _move(submission, old, State.DISQUALIFIED, sentence, code="disqualified", decision=decision)


def reinstate(submission: Submission, decision: Decision) -> bool:
    """disqualified → ranked, by an organizer: with the mean, the n and the time at which it had ranked."""
    sentence = _because("Reinstated by an organizer", decision)
    # An entry of its own kind: the one that ranked it, to which its row on the board leads, stays the last of its kind.
    entry = "submission.reinstated"
    return _move(submission, State.DISQUALIFIED, State.RANKED, sentence, decision=decision, entry=entry)


def accept_reread(submission: Submission, decision: Decision) -> bool:
    """rejected → accepted, by an organizer, where a later audit does not reject it. Its place stays given back.

    Call it under the quota's lock, since the same script may be sent again meanwhile.
    """
    sentence = _because("Read again under other rules, and accepted by an organizer", decision)
    return _move(submission, State.REJECTED, State.ACCEPTED, sentence, decision=decision)


def send_back(submission: Submission, old: State, decision: Decision) -> bool:
    """failed, errored or, where it had not ranked, disqualified → queued, by an organizer; its runs reopen with it.

    Costs no place and gives none back. Raises LookupError, and changes nothing, where it has no run to go on with.
    """
    did = "Reinstated" if old == State.DISQUALIFIED else "Run again with the same seeds"
    with transaction.atomic():
        if not _move(submission, old, State.QUEUED, _because(f"{did} by an organizer", decision), decision=decision):
            return False
        if not any(reopened for _, reopened in sent_back.send(Submission, submission=submission)):
            raise LookupError(f"{submission} has no runs")
    return True


def queue(submission: Submission, *, runs: int) -> bool:
    """accepted → queued."""
    message = "Waiting for a free host." if runs == 1 else f"{runs} runs wait for a free host."
    return _move(submission, State.ACCEPTED, State.QUEUED, message)


def start(submission: Submission) -> bool:
    """queued → running: the first attempt is leased."""
    return _move(submission, State.QUEUED, State.RUNNING, "Training.")


def begin_scoring(submission: Submission) -> bool:
    """running, or queued where it was sent back with sealed runs only → scoring."""
    sentence = "The checkpoint is sealed; it is scored as soon as its host is free."
    return any(_move(submission, old, State.SCORING, sentence) for old in (State.RUNNING, State.QUEUED))


def rank(submission: Submission, *, mean: float, sd: float | None, n: int) -> bool:
    """scoring → ranked, with the mean and spread (bits per byte) of its n finite public scores."""
    fields = {"mean_bpb": mean, "sd_bpb": sd, "n_scores": n, "ranked_at": timezone.now()}
    return _move(submission, State.SCORING, State.RANKED, "On the board.", fields=fields)


def fail(submission: Submission, old: State, *, code: str, reason: str, unless: Exists | None = None) -> bool:
    """queued, running or scoring → failed: the script's own end. Stays charged.

    `unless` is a condition under which the end that is acted on is no longer the newest: it was sent back since.
    """
    return _move(submission, old, State.FAILED, reason, code=code, unless=unless)


def error(submission: Submission, old: State, *, code: str, reason: str, unless: Exists | None = None) -> bool:
    """accepted, queued, running or scoring → errored: ours. Refunded. `unless` as in `fail`."""
    return _move(submission, old, State.ERRORED, reason, code=code, pay=_refund(code), unless=unless)


def withdraw(submission: Submission, old: State, *, actor: User) -> bool:
    """any living state or ranked → withdrawn, by the team. Before the start the place is given back."""
    pay = _release("withdrawn", unless_started=True) if old in BEFORE_START else None
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


def _release(cause: str, *, unless_started: bool = False) -> Payment:
    def pay(account: QuotaAccount, submission: Submission) -> None:
        begun = Event.objects.filter(submission=submission, kind="state", state=State.RUNNING)
        if not (unless_started and begun.exists()):  # one that was sent back waits again, but had its start
            quota.release(account, submission, cause)

    return pay


def _because(sentence: str, decision: Decision) -> str:
    return f"{sentence}: {decision.reason}" if decision.reason else f"{sentence}."


def _move(
    submission: Submission,
    old: State,
    new: State,
    message: str,
    *,
    code: str = "",
    actor: User | None = None,
    decision: Decision | None = None,
    pay: Payment | None = None,
    fields: dict[str, Any] | None = None,
    entry: str = "",
    unless: Exists | None = None,
) -> bool:
    if new not in EDGES[old]:
        raise ValueError(f"no edge leads from {old} to {new}")
    now, due = timezone.now(), waiting(new)
    deadline = now + due.look_after if due and due.look_after else None
    actor = decision.organizer if decision else actor
    with transaction.atomic():
        account = quota.lock(submission.team, submission.phase) if pay else None
        named = Submission.objects.filter(pk=submission.pk, state=old)
        if unless is not None:
            named = named.exclude(unless)
        changed = named.update(
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
        told = {**_data(code), **({"action": decision.action} if decision else {})}
        Event.objects.create(
            submission=submission, at=now, kind="state", state=new, message=message, data=told, actor=actor
        )
        who = {"actor": actor.pk} if actor else {}
        why = decision.entry() if decision else {}
        ledger.append(
            kind=entry or f"submission.{new}",
            subject=f"submission:{submission.pk}",
            data={"from": old.value, "to": new.value, **_data(code), **who, **why},
        )
    submission.refresh_from_db(fields=["state", "changed", "deadline", "reason_code", "reason", *(fields or {})])
    return True


def _data(code: str) -> dict[str, str]:
    return {"code": code} if code else {}
