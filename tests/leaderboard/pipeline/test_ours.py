"""Ends that are ours: the run is repeated under the same seed, three times at most, and then refunded."""

import pytest

from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Attempt
from leaderboard.submissions.models import QuotaEntry
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


def silence():
    """Let every lease run out."""
    Attempt.objects.filter(state="leased").update(lease_until=later(seconds=-1), capability_expires=later(seconds=-1))


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
