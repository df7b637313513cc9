"""Quota as a ledger: upload holds a place, acceptance charges it, an end that is not the team's doing gives it back.

A submission uses a place in the window of its upload from its hold on, until a release or a refund. Every function
here wants to be inside a transaction and takes the lock of the account first, so of parallel uploads at the limit
exactly one enters.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from leaderboard.accounts.models import Team
from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import QuotaAccount, QuotaEntry, Submission

Kind = QuotaEntry.Kind


@dataclass(frozen=True)
class QuotaStanding:
    """How many places a team has in the current window, how many are used, and when the next one opens.

    `next_slot` is None while places are left; `renews` is when the next window begins.
    """

    limit: int
    used: int
    renews: datetime

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def next_slot(self) -> datetime | None:
        return None if self.left else self.renews

    def to_json(self) -> dict[str, object]:
        slot = self.next_slot
        return {
            "limit": self.limit,
            "used": self.used,
            "next_slot": slot.isoformat() if slot else None,
            "renews": self.renews.isoformat(),
        }


def standing(team: Team | None, phase: Phase, now: datetime | None = None) -> QuotaStanding:
    """Return what a team has used in the window that holds `now`; a team that does not exist yet has used nothing."""
    start, end = phase.rules.quota_window(now or timezone.now())
    used = 0
    if team is not None:
        counts = QuotaEntry.objects.filter(account__team=team, account__phase=phase, window=start).aggregate(
            taken=Count("pk", filter=Q(kind=Kind.HOLD)),
            given_back=Count("pk", filter=Q(kind__in=(Kind.RELEASE, Kind.REFUND))),
        )
        used = counts["taken"] - counts["given_back"]
    return QuotaStanding(phase.rules.quota.submissions, used, end)


def lock(team: Team, phase: Phase) -> QuotaAccount:
    """Lock the account that a submission is paid from: the first lock of every change that touches quota."""
    account, _ = QuotaAccount.objects.get_or_create(team=team, phase=phase)
    return QuotaAccount.objects.select_for_update().get(pk=account.pk)


def require_place(team: Team, phase: Phase, now: datetime) -> None:
    """Raise Refusal `quota` (429) when the window is full; call it under the lock."""
    now_used = standing(team, phase, now)
    if now_used.left:
        return
    per = phase.rules.quota.per
    raise Refusal(
        "quota",
        f"All {now_used.limit} submissions of this {per} are used; the next slot opens "
        f"on {now_used.renews:%Y-%m-%d at %H:%M} UTC.",
        429,
        **now_used.to_json(),
    )


def hold(account: QuotaAccount, submission: Submission, now: datetime) -> None:
    """Take a place for an upload."""
    window, _ = submission.phase.rules.quota_window(now)
    _write(account, submission, Kind.HOLD, "upload", window)


def charge(account: QuotaAccount, submission: Submission) -> None:
    """Turn the hold into a charge: the submission was accepted."""
    _follow(account, submission, Kind.CHARGE, "accepted")


def release(account: QuotaAccount, submission: Submission, cause: str) -> None:
    """Give the place back: rejected, or withdrawn before the start."""
    _give_back(account, submission, Kind.RELEASE, cause)


def refund(account: QuotaAccount, submission: Submission, cause: str) -> None:
    """Give the place back: the platform could not carry the submission out."""
    _give_back(account, submission, Kind.REFUND, cause)


def _give_back(account: QuotaAccount, submission: Submission, kind: QuotaEntry.Kind, cause: str) -> None:
    """Give a place back once: what is run again after a refund is free already, whatever becomes of it."""
    given = QuotaEntry.objects.filter(submission=submission, kind__in=(Kind.RELEASE, Kind.REFUND))
    if not given.exists():
        _follow(account, submission, kind, cause)


def _follow(account: QuotaAccount, submission: Submission, kind: QuotaEntry.Kind, cause: str) -> None:
    held = QuotaEntry.objects.get(submission=submission, kind=Kind.HOLD)
    _write(account, submission, kind, cause, held.window)


def _write(account: QuotaAccount, submission: Submission, kind: QuotaEntry.Kind, cause: str, window: datetime) -> None:
    QuotaEntry.objects.create(
        account=account, submission=submission, kind=kind, cause=cause, at=timezone.now(), window=window
    )
