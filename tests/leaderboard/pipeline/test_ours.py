"""Ends that are ours: the run is repeated under the same seed, three times at most, and then refunded."""

import pytest

from leaderboard.pipeline.reaper import reap
from leaderboard.runs import transitions as of_run
from leaderboard.runs.models import Attempt, Round
from leaderboard.submissions.models import QuotaEntry
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


def silence():
    """Let every lease run out."""
    Attempt.objects.filter(state="leased").update(lease_until=later(seconds=-1))


@pytest.mark.parametrize("how", ["silence", "fault", "host_fault", "contention", "cancelled"])
def test_an_attempt_that_we_lost_is_followed_by_one_with_the_same_seed(how):
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    first = host.claim_next()
    if how == "silence":
        silence()
        reap()
    elif how == "fault":
        assert first.fault().status_code == 200
        assert first.fault().status_code == 200
    else:
        first.finish(how)
    drive()
    second = host.claim_next()
    assert second.attempt != first.attempt
    assert second.job["seed"] == first.job["seed"]
    submission.refresh_from_db()
    assert submission.state == "running"
    second.finish()
    drive()
    host.claim_next().finish()
    drive()
    submission.refresh_from_db()
    assert submission.state == "ranked"
    assert list(Attempt.objects.filter(kind="train").values_list("number", flat=True)) == [1, 2]


def test_a_lost_scoring_attempt_is_repeated_without_training_again():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    host.claim_next().finish()
    drive()
    host.claim_next()
    silence()
    reap()
    again = host.claim_next()
    assert again.job["kind"] == "score"
    again.finish()
    drive()
    submission.refresh_from_db()
    assert (submission.state, Attempt.objects.filter(kind="train").count()) == ("ranked", 1)


def test_the_history_says_why_a_run_starts_again_and_that_it_does_not_after_the_last():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    for _ in range(3):
        host.claim_next().finish("contention")
        drive()
    told = list(submission.events.filter(kind="run.repeated").order_by("id").values_list("message", flat=True))
    assert [("Other programs" in line, "starts again" in line) for line in told] == [(True, True)] * 2 + [(True, False)]
    submission.refresh_from_db()
    assert "no cost" not in submission.reason
    assert "Other programs on the host were busy" in submission.reason


def test_after_three_the_submission_is_errored_and_refunded():
    submission, host = queue(send(make_user(), make_competition(runs=2))), Host.register()
    lost, other = host.claim_next(), host.claim_next()
    for _ in range(3):
        lost.fault()
        drive()
        submission.refresh_from_db()
        if submission.state == "running":
            lost = host.claim_next()
    assert (submission.state, submission.reason_code) == ("errored", "host_fault")
    assert submission.reason.endswith("Your quota is refunded; send it again.")
    assert QuotaEntry.objects.filter(kind="refund", cause="host_fault").count() == 1
    assert other.report().json() == {"cancel": True}
    assert list(take("hw.cpu")) == []
    assert Attempt.objects.filter(run__index=0).count() == 3


def test_the_history_says_where_the_host_was_lost():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    host.claim_next().report({"event": "step", "step": 812, "charged": 1.0})
    silence()
    reap()
    message = submission.events.get(kind="attempt.lost").message
    assert message == "The host was lost at step 812 (ours). Your quota is untouched."


def test_a_host_that_is_lost_after_a_withdrawal_is_not_waited_for():
    ada = make_user()
    submission, host = queue(send(ada, make_competition())), Host.register()
    host.claim_next()
    withdraw(user=ada, submission=submission)
    silence()
    reap()
    assert Attempt.objects.get().state == "cancelled"
    assert submission.runs.get().state == "cancelled"
    assert list(take("hw.cpu")) == []


def test_a_host_that_shows_life_for_ever_is_overdue():
    queue(send(make_user(), make_competition()))
    work = Host.register().claim_next()
    Attempt.objects.update(leased_at=later(hours=-1))
    assert work.report().status_code == 200
    reap()
    assert Attempt.objects.order_by("pk").first().state == "lost"


def test_after_an_outage_every_host_has_a_lease_to_be_heard_again():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    work = host.claim_next()
    reap()
    silence()
    Attempt.objects.update(leased_at=later(hours=-1))
    Round.objects.update(at=later(minutes=-10))  # nobody looked, and nobody listened
    reap()
    reap()
    assert work.report({"event": "step", "step": 7, "charged": 1.0}).json() == {"cancel": False}
    work.finish()
    drive()
    submission.refresh_from_db()
    assert (submission.state, Attempt.objects.filter(kind="train").count()) == ("scoring", 1)


def test_after_an_outage_and_a_lease_a_host_that_stays_silent_is_lost():
    queue(send(make_user(), make_competition()))
    Host.register().claim_next()
    reap()
    silence()
    Round.objects.update(at=later(minutes=-10))
    reap()
    assert Attempt.objects.get().state == "leased"
    Round.objects.update(spare_until=later(seconds=-1))
    reap()
    assert Attempt.objects.order_by("pk").first().state == "lost"


def test_a_sign_of_life_after_the_reaper_has_read_the_row_saves_the_attempt():
    queue(send(make_user(), make_competition()))
    work = Host.register().claim_next()
    silence()
    read = Attempt.objects.select_related("run").get()
    work.report()
    assert not of_run.lose(read, cause="lost", unless_renewed=True)
    assert Attempt.objects.get().state == "leased"
    assert of_run.lose(read, cause="host_fault")
