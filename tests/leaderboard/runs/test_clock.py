"""A wall clock that is set by an hour while the site runs: nobody is late by it, and nothing waits for it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Attempt, Round
from leaderboard.runs.services import offer
from leaderboard.submissions import transitions
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def turn(monkeypatch):
    """Set the wall clock of every process of the site; the machine's own goes on as it does."""
    real = timezone.now

    def turn(by):
        monkeypatch.setattr("django.utils.timezone.now", lambda: real() + by)

    return turn


@pytest.fixture
def work(turn):
    """A run under way, and a round of the reaper that has seen it."""
    queue(send(make_user(), make_competition()))
    claimed = Host.register().claim_next()
    reap()
    return claimed


def spare_is_over():
    """Let the lease pass that every host has after an outage."""
    Round.objects.update(spare_until=None)


def is_done(work):
    """Hand in the end and go on with the scoring."""
    assert work.finish().status_code == 200
    drive()
    return Submission.objects.get().state == "scoring"


def test_forward_nobodys_lease_is_lost(work, turn):
    turn(HOUR)
    reap()
    assert work.report({"event": "step", "step": 3, "charged": 1.0}).json() == {"cancel": False}
    spare_is_over()
    reap()
    assert Attempt.objects.get().state == "leased", "an hour of the clock is no hour of the run"
    assert is_done(work)


def test_forward_a_host_that_stays_silent_is_lost_a_lease_later(work, turn):
    turn(HOUR)
    reap()
    assert Attempt.objects.get().state == "leased"
    spare_is_over()
    reap()
    assert Attempt.objects.order_by("pk").first().state == "lost"


@pytest.mark.parametrize("outage", [False, True])
def test_back_a_dead_hosts_attempt_is_lost_after_its_lease_and_not_an_hour_later(work, turn, outage):
    if outage:  # and every host has a lease to be heard again, by the clock that is about to be put back
        Round.objects.update(at=later(minutes=-10))
        reap()
    turn(-HOUR)
    reap()
    attempt = Attempt.objects.get()
    assert attempt.state == "leased"
    assert attempt.lease_until <= timezone.now() + timedelta(seconds=30)
    assert attempt.leased_at <= timezone.now()
    for seconds in (16, 32):
        turn(-HOUR + timedelta(seconds=seconds))
        Round.objects.update(offset=Round.objects.get().offset + 16)  # that time has passed on every clock
        reap()
    assert Attempt.objects.order_by("pk").first().state == "lost"


def test_back_a_living_host_goes_on(work, turn):
    turn(-HOUR)
    reap()
    assert work.report({"event": "step", "step": 3, "charged": 1.0}).json() == {"cancel": False}
    spare_is_over()
    reap()
    assert is_done(work)


def test_back_progress_is_still_written(work, turn):
    work.report({"event": "step", "step": 1, "charged": 0.1})
    turn(-HOUR)
    work.report({"event": "step", "step": 9, "charged": 0.9})
    newest = Submission.objects.get().events.filter(kind="progress").order_by("-id")[0]
    assert newest.data["step"] == 9


def test_back_once(work, turn):
    turn(-HOUR)
    reap()
    Attempt.objects.update(lease_until=later(hours=2))
    Submission.objects.update(deadline=later(hours=2))
    reap()
    assert Attempt.objects.get().lease_until > later(hours=1)
    assert Submission.objects.get().deadline > later(hours=1)


def test_back_a_lost_audit_message_is_sent_again_in_seconds(turn):
    reap()
    submission = send(make_user(), make_competition())
    list(take("platform"))
    turn(-HOUR)
    reap()
    submission.refresh_from_db()
    assert submission.deadline <= timezone.now() + timedelta(seconds=5)
    turn(-HOUR + timedelta(seconds=6))
    reap()
    assert list(take("platform")) == [("pipeline.audit", [submission.pk])]


def test_back_a_killed_audit_is_started_again_after_its_own_time(turn):
    reap()
    submission = send(make_user(), make_competition())
    list(take("platform"))
    assert transitions.start_audit(submission)
    turn(-HOUR)
    reap()
    turn(-HOUR + timedelta(seconds=91))
    reap()
    submission.refresh_from_db()
    assert submission.state == "received"


def test_back_a_lost_offer_is_made_again_in_seconds(turn):
    Host.register()
    queue(send(make_user(), make_competition()))
    offer(Attempt.objects.select_related("run__submission__phase").get())
    reap()
    list(take("hw.cpu"))
    turn(-HOUR)
    reap()
    turn(-HOUR + timedelta(seconds=6))
    reap()
    assert list(take("hw.cpu")) == [("agent.execute", [Attempt.objects.get().pk])]


def test_after_a_restart_of_the_machine_a_clock_that_went_back_is_seen_by_its_last_round(work, turn):
    Round.objects.update(boot="another", offset=0.0)
    turn(-HOUR)
    reap()
    assert Attempt.objects.get().lease_until <= timezone.now() + timedelta(seconds=30)


def test_an_outage_is_no_jump(work):
    Round.objects.update(at=later(hours=-1))
    Attempt.objects.update(leased_at=later(hours=-2), lease_until=later(minutes=-50))
    reap()
    spare_is_over()
    work.report()
    reap()
    assert Attempt.objects.order_by("pk").first().state == "lost", "it has lasted two hours of any clock"


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_what_has_happened_keeps_its_time_and_order(work, turn, by):
    turn(by)
    reap()
    assert is_done(work)
    submission = Submission.objects.get()
    ids = list(submission.events.order_by("id").values_list("state", flat=True))
    assert [state for state, before in zip(ids, [None, *ids], strict=False) if state != before] == [
        "received", "auditing", "accepted", "queued", "running", "scoring",
    ]  # fmt: skip
    assert submission.created < timezone.now() if by > timedelta(0) else submission.created > timezone.now()
