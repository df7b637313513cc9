"""Quota as a ledger: what uses a place, what gives it back, and when windows begin."""

from datetime import UTC, datetime

import pytest

from leaderboard.submissions import quota, transitions
from leaderboard.submissions.models import QuotaEntry, State
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import queue, send

pytestmark = pytest.mark.django_db(transaction=True)


def used(submission):
    return quota.standing(submission.team, submission.phase).used


def kinds():
    return list(QuotaEntry.objects.order_by("pk").values_list("kind", flat=True))


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_hold_becomes_a_charge_and_counts_once():
    submission = send(make_user(), make_competition())
    assert used(submission) == 1
    transitions.start_audit(submission)
    transitions.accept(submission)
    assert (used(submission), kinds()) == (1, ["hold", "charge"])


def test_a_rejection_gives_the_place_back():
    submission = send(make_user(), make_competition(quota={"submissions": 1}))
    transitions.start_audit(submission)
    transitions.reject(submission, code="K101", reason="K101")
    assert (used(submission), kinds()) == (0, ["hold", "release"])
    assert send(submission.author, submission.phase.competition).version == 2


def test_a_withdrawal_gives_the_place_back_before_the_start_and_not_after():
    ada, demo = make_user(), make_competition()
    early = queue(send(ada, demo))
    withdraw(user=ada, submission=early)
    assert used(early) == 0
    late = queue(send(ada, demo))
    transitions.start(late)
    withdraw(user=ada, submission=late)
    assert used(late) == 1


def test_an_end_that_was_ours_is_refunded_and_a_failure_is_not():
    ada, demo = make_user(), make_competition()
    failed = queue(send(ada, demo))
    transitions.fail(failed, State.QUEUED, code="crash", reason="It crashed.")
    assert used(failed) == 1
    errored = queue(send(ada, demo))
    transitions.error(errored, State.QUEUED, code="lost", reason="The host was lost.")
    assert (used(errored), kinds()) == (1, ["hold", "charge", "hold", "charge", "refund"])


def test_the_next_slot_is_none_while_places_are_left():
    submission = send(make_user(), make_competition(quota={"submissions": 2}))
    now = quota.standing(submission.team, submission.phase)
    assert (now.left, now.next_slot) == (1, None)
    assert quota.standing(None, submission.phase).used == 0


@pytest.mark.parametrize(
    ("per", "now", "start", "end"),
    [
        ("day", "2026-06-10T12:00", "2026-06-09T22:00", "2026-06-10T22:00"),
        ("day", "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00"),  # 23 hours: clocks go forward
        ("day", "2026-10-25T12:00", "2026-10-24T22:00", "2026-10-25T23:00"),  # 25 hours: clocks go back
        ("week", "2026-10-25T23:30", "2026-10-25T23:00", "2026-11-01T23:00"),  # Monday has begun in Berlin only
        ("week", "2026-10-25T22:30", "2026-10-18T22:00", "2026-10-25T23:00"),
    ],
)
def test_windows_begin_at_midnight_in_the_phases_zone(per, now, start, end):
    phase = make_competition(timezone="Europe/Berlin", quota={"submissions": 1, "per": per}).phases.get()
    assert phase.rules.quota_window(at(now)) == (at(start), at(end))
    assert quota.standing(None, phase, at(now)).renews == at(end)


def test_a_place_is_used_in_the_window_of_its_upload_only():
    submission = send(make_user(), make_competition(quota={"submissions": 1}))
    renews = quota.standing(submission.team, submission.phase).renews
    assert quota.standing(submission.team, submission.phase, renews).used == 0
