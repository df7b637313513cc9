"""Whatever message is lost, and wherever a process is killed, the submission still moves on."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.pipeline import reaper, tasks
from leaderboard.pipeline.reaper import reap
from leaderboard.runs import transitions as of_run
from leaderboard.runs.models import Attempt, Receipt, Run, Score
from leaderboard.runs.numbers import score_fields
from leaderboard.submissions import transitions
from leaderboard.submissions.models import Submission
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import later, make_competition, make_phase, make_user
from tests.leaderboard.conftest import down
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


def lose_messages():
    for name in ("platform", "hw.cpu"):
        list(take(name))


def time_passes():
    """Make every deadline due, and every offer old."""
    Submission.objects.exclude(deadline=None).update(deadline=later(seconds=-1))
    Attempt.objects.exclude(sent_at=None).update(
        sent_at=timezone.now() - timedelta(minutes=10), created=later(minutes=-10)
    )


def test_the_whole_way_with_every_message_lost_once():
    submission, host = send(make_user(), make_competition()), Host.register()
    for expected in ("pipeline.audit", "pipeline.dispatch"):
        lose_messages()
        time_passes()
        reap()
        ((name, args),) = take("platform")
        assert (name, args) == (expected, [submission.pk])
        (tasks.audit if name == "pipeline.audit" else tasks.dispatch)(*args)
    for _ in ("train", "score"):
        lose_messages()
        time_passes()
        reap()
        host.claim_next().finish()
        lose_messages()
        time_passes()
        reap()
    submission.refresh_from_db()
    assert (submission.state, Score.objects.count()) == ("ranked", 1)


def test_every_task_twice_changes_nothing_the_second_time():
    submission, host = send(make_user(), make_competition()), Host.register()
    for task in (tasks.audit, tasks.audit, tasks.dispatch, tasks.dispatch):
        task(submission.pk)
    train = host.claim_next()
    train.finish()
    for _ in range(3):
        tasks.settle(train.attempt)
    score = next(args for name, args in take("hw.cpu"))
    work = host.work(*score)
    work.finish()
    for _ in range(3):
        tasks.settle(work.attempt)
        tasks.settle(train.attempt)
        tasks.publish(submission.pk)
    submission.refresh_from_db()
    assert submission.state == "ranked"
    assert (Run.objects.count(), Attempt.objects.count(), Score.objects.count()) == (1, 2, 1)
    assert submission.events.filter(kind="state").count() == 7
    assert submission.reports.count() == 1


def test_a_worker_killed_in_an_audit_is_followed_by_another_audit():
    submission = send(make_user(), make_competition())
    lose_messages()
    assert transitions.start_audit(submission)
    time_passes()
    reap()
    submission.refresh_from_db()
    assert submission.state == "received"
    assert list(take("platform")) == [("pipeline.audit", [submission.pk])]


def test_an_audit_that_kills_its_worker_three_times_ends_errored_and_refunded():
    submission = send(make_user(), make_competition())
    for _ in range(reaper.AUDITS):
        submission.refresh_from_db()
        assert transitions.start_audit(submission)
        time_passes()
        reap()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("errored", "audit_unavailable")
    assert list(submission.quota_entries.values_list("kind", flat=True)) == ["hold", "refund"]


def test_a_worker_killed_between_seal_and_score_is_made_up_for():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    work = host.claim_next()
    work.finish()
    lose_messages()
    attempt = Attempt.objects.get()
    assert of_run.seal(attempt.run, attempt, checkpoint_sha256="9" * 64)
    time_passes()
    reap()
    assert host.claim_next().job["kind"] == "score"
    submission.refresh_from_db()
    assert submission.state == "scoring"


def test_a_worker_killed_between_score_and_publish_is_made_up_for():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    host.claim_next().finish()
    drive()
    host.claim_next().finish()
    lose_messages()
    attempt = Attempt.objects.get(kind="score")
    assert of_run.record_score(attempt.run, attempt, score_fields(attempt.receipt.body))
    time_passes()
    reap()
    submission.refresh_from_db()
    assert submission.state == "ranked"


def test_a_worker_killed_between_the_failure_of_a_run_and_of_its_submission_is_made_up_for():
    submission, host = queue(send(make_user(), make_competition())), Host.register()
    host.claim_next().finish("crash")
    lose_messages()
    attempt = Attempt.objects.get()
    assert of_run.end(attempt.run, Run.State.FAILED, attempt, cause="crash")
    time_passes()
    reap()
    submission.refresh_from_db()
    assert submission.state == "failed"


def test_waiting_attempts_are_offered_again_to_idle_hosts_only():
    demo = make_competition()
    for _ in range(3):
        queue(send(make_user(), demo))
    host = Host.register()
    lose_messages()
    reap()
    assert list(take("hw.cpu")) == []  # offered a moment ago
    time_passes()
    reap()
    ((_, args),) = take("hw.cpu")  # one idle host, one offer
    host.work(*args)
    time_passes()
    reap()
    assert list(take("hw.cpu")) == []


def test_an_offer_that_never_went_out_goes_out_when_the_broker_is_back(broker):
    submission = send(make_user(), make_competition())
    transitions.start_audit(submission)
    transitions.accept(submission)
    with down(broker):
        tasks.dispatch(submission.pk)
        reap()
        assert Attempt.objects.get().sent_at is None
        submission.refresh_from_db()
        assert submission.state == "queued"
    assert list(take("hw.cpu")) == []
    reap()
    assert list(take("hw.cpu")) == [("agent.execute", [Attempt.objects.get().pk])]


def test_what_waits_of_a_withdrawn_submission_is_cancelled():
    ada = make_user()
    submission = queue(send(ada, make_competition()))
    withdraw(user=ada, submission=submission)
    reap()
    attempt, run = Attempt.objects.get(), submission.runs.get()
    assert (attempt.state, run.state) == ("cancelled", "cancelled")
    told = Entry.objects.filter(subject=f"run:{run.pk}", kind__endswith=".cancelled").order_by("seq")
    assert [(entry.kind, json.loads(entry.data)) for entry in told] == [
        ("attempt.cancelled", {"submission": submission.pk, "attempt": attempt.pk}),
        ("run.cancelled", {"submission": submission.pk}),
    ]
    reap()
    assert told.count() == 2


def test_a_phase_whose_seeds_are_gone_is_ours_and_refunded(settings):
    submission = send(make_user(), make_competition())
    (settings.HOME / "secrets" / f"seed-{submission.phase_id}.key").unlink()
    transitions.start_audit(submission)
    transitions.accept(submission)
    tasks.dispatch(submission.pk)
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("errored", "bad_phase")
    assert not Run.objects.exists()
    assert submission.quota_entries.filter(kind="refund").exists()


def test_what_a_withdrawal_left_running_is_settled_when_the_message_of_its_end_is_lost():
    ada = make_user()
    submission, host = queue(send(ada, make_competition(runs=2))), Host.register()
    work, other = host.claim_next(), host.claim_next()
    withdraw(user=ada, submission=submission)
    work.finish()
    lose_messages()
    reap()
    assert {run.state for run in submission.runs.all()} == {"running"}  # the other host is yet to hear of it
    other.finish()
    lose_messages()
    reap()
    assert {run.state for run in submission.runs.all()} == {"cancelled"}


def two_with_the_first_unreadable():
    """Queue two submissions of one competition's phases; the rules of the first one's phase cannot be read any more."""
    demo = make_competition()
    make_phase(demo, "other")
    broken = queue(send(make_user(), demo))
    sound = queue(send(make_user(), demo, phase="other"))
    lose_messages()
    return broken, sound


def spoil(submission):
    Phase.objects.filter(pk=submission.phase_id).update(spec={})


def test_a_lease_is_taken_back_behind_one_whose_row_cannot_be_read(caplog):
    broken, sound = two_with_the_first_unreadable()
    host = Host.register()
    for submission in (broken, sound):
        host.work(submission.runs.get().attempts.get().pk)
    Attempt.objects.update(lease_until=later(seconds=-1))
    spoil(broken)
    reap()
    states = [submission.runs.get().attempts.order_by("pk").first().state for submission in (broken, sound)]
    assert states == ["leased", "lost"]
    assert "stumbled over attempt" in caplog.text


def test_an_attempt_is_offered_behind_one_whose_row_cannot_be_read():
    broken, sound = two_with_the_first_unreadable()
    Attempt.objects.update(sent_at=None)
    spoil(broken)
    reap()
    assert list(take("hw.cpu")) == [("agent.execute", [sound.runs.get().attempts.get().pk])]


def test_a_submission_is_looked_at_behind_one_that_cannot_be_driven():
    demo = make_competition()
    broken, sound = queue(send(make_user(), demo)), send(make_user(), demo)
    Host.register().claim_next().finish()
    Receipt.objects.all().delete()  # so that the end of its attempt cannot be read
    lose_messages()
    time_passes()
    Submission.objects.filter(pk=broken.pk).update(deadline=later(hours=-1))
    reap()
    assert ("pipeline.audit", [sound.pk]) in list(take("platform"))
