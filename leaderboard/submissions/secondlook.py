"""A ruling on one submission reopens its descendants, and a later audit that is stricter reopens what it read: it is
looked at again, and stays as it is meanwhile.

A ruling does nothing by itself: an organizer reads the list, confirms exactly that list, and each submission on it gets
an open look, an Event in words that name no other team, and a ledger entry. The look is closed by a decision about the
submission, or by the organizer's word that it stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.submissions import kinship
from leaderboard.submissions.models import Event, Report, SecondLook, State, Submission
from leaderboard.submissions.states import AT_WORK
from leaderboard.submissions.visibility import is_member, organizes

MAY_BE_REOPENED = AT_WORK | {State.ACCEPTED, State.RANKED}
MOST = 10_000
OPENED = "An organizer looks at it again. Meanwhile it stays as it is."
CLOSED = "An organizer has looked at it again: it stays as it is."


def ruled_against(submission: Submission) -> bool:
    """Return whether an organizer has rejected or disqualified a submission."""
    by_organizer = submission.state == State.REJECTED and submission.reason_code == "organizer"
    return by_organizer or submission.state == State.DISQUALIFIED


def to_reopen(submission: Submission) -> list[Submission]:
    """Return the descendants that are accepted, at work or ranked and not being looked at again yet."""
    every = kinship.descendants(submission, MOST)
    looked_at = SecondLook.objects.filter(submission=OuterRef("pk"), closed=None)
    rows = Submission.objects.filter(pk__in=every, state__in=MAY_BE_REOPENED).exclude(Exists(looked_at))
    return list(rows.select_related("team", "phase").defer("script").order_by("pk"))


def digest_of(chosen: Sequence[Submission]) -> str:
    """Return what stands for exactly this list in a confirmation."""
    return hashlib.sha256(" ".join(str(each.pk) for each in chosen).encode()).hexdigest()[:16]


def reopen(*, organizer: User, submission: Submission, digest: str) -> list[Submission]:
    """Open a second look at each descendant of a submission that was ruled against, and return them.

    `digest` is of the list that the organizer has read. Raises Refusal: not_organizer and own_team 403, no_ruling,
    nothing_to_reopen and changed (the list is another one by now) 409.
    """
    _require(organizer, submission)
    with transaction.atomic():
        ledger.hold()  # before any look: a later audit has the head when it opens one
        submission.refresh_from_db(fields=["state", "reason_code"])
        if not ruled_against(submission):
            raise Refusal("no_ruling", "Only a ruling reopens descendants: reject or disqualify it first.", 409)
        chosen = to_reopen(submission)
        if not chosen:
            raise Refusal("nothing_to_reopen", "Nothing that may come from it is accepted, at work or ranked.", 409)
        if digest_of(chosen) != digest:
            raise Refusal("changed", "The list has changed since you read it; here it is as it is now.", 409)
        now = timezone.now()
        for each in chosen:
            _, fresh = SecondLook.objects.get_or_create(
                submission=each,
                closed=None,
                defaults={"because_of": submission, "opened": now, "opened_by": organizer},
            )
            if fresh:
                _tell(each, organizer, "opened", OPENED)
    return chosen


def open_because_of(report: Report, submission: Submission, by: User | None) -> bool:
    """Open a look at a submission because of its newest report; False where one is open, which then has it as well.

    Call it in the transaction that keeps the report.
    """
    now = timezone.now()
    look, fresh = SecondLook.objects.get_or_create(
        submission=submission, closed=None, defaults={"report": report, "opened": now, "opened_by": by}
    )
    if fresh:
        _tell(submission, by, "opened", OPENED)
    else:
        SecondLook.objects.filter(pk=look.pk).update(report=report)
    return fresh


def keep(*, organizer: User, submission: Submission) -> None:
    """Close the look at a submission, which stays as it is. Raises Refusal not_organizer, own_team 403, no_look 409."""
    _require(organizer, submission)
    with transaction.atomic():
        ledger.hold()
        if not close(submission):
            raise Refusal("no_look", "Nobody looks at this submission again, or somebody has decided already.", 409)
        _tell(submission, organizer, "closed", CLOSED)


def close(submission: Submission) -> bool:
    """Close the open look at a submission; False where there is none."""
    return bool(SecondLook.objects.filter(submission=submission, closed=None).update(closed=timezone.now()))


def open_look(submission: Submission) -> SecondLook | None:
    """Return the open look at a submission."""
    looks = SecondLook.objects.filter(submission=submission, closed=None, submission__state__in=MAY_BE_REOPENED)
    looks = looks.select_related("because_of__team", "because_of__phase", "report__policy", "submission__policy")
    return looks.defer("because_of__script", "submission__script", "report__body").first()


def open_looks(competition: Competition) -> QuerySet[SecondLook]:
    """Return what waits for a second look, the one that waits longest first."""
    looks = SecondLook.objects.filter(
        submission__phase__competition=competition, submission__state__in=MAY_BE_REOPENED, closed=None
    )
    looks = looks.select_related("submission__team", "submission__phase", "because_of__team", "report__policy")
    return looks.defer("submission__script", "because_of__script", "report__body").order_by("opened", "pk")


def _require(organizer: User, submission: Submission) -> None:
    if not organizes(organizer, submission.phase.competition):
        raise Refusal("not_organizer", "Only an organizer of this competition decides that.", 403)
    if is_member(organizer, submission):
        raise Refusal("own_team", "This submission is your own team's; another organizer decides on it.", 403)


def _tell(submission: Submission, organizer: User | None, look: str, sentence: str) -> None:
    """Write the Event and the ledger entry. Neither says what the look is because of: that is for organizers."""
    now, state = timezone.now(), submission.state
    told: dict[str, Any] = {"look": look}
    Event.objects.create(
        submission=submission, at=now, kind="look", state=state, message=sentence, data=told, actor=organizer
    )
    who = {"actor": organizer.pk} if organizer else {}
    kind = "submission.reopened" if look == "opened" else "submission.kept"
    ledger.append(kind=kind, subject=f"submission:{submission.pk}", data={"state": state, **who})
