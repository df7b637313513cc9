"""Run again by an organizer: same seeds, nothing erased, three tries from there, and no old end that decides again."""

import json

import pytest

from leaderboard.core.errors import Refusal
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify
from leaderboard.pipeline import steps
from leaderboard.pipeline.endings import ending_of
from leaderboard.pipeline.reaper import reap
from leaderboard.pipeline.tasks import settle
from leaderboard.runs.leases import find
from leaderboard.runs.models import Attempt, Score
from leaderboard.submissions.models import QuotaEntry, Submission
from leaderboard.submissions.moderation import moderate
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


def again(olga, submission, action="rerun"):
    return moderate(organizer=olga, submission=submission, action=action, reason="The host was to blame.")


def failed(host, demo=None, code="crash", **phase):
    submission = queue(send(make_user(), demo or make_competition(**phase)))
    host.claim_next().finish(code)
    drive()
    submission.refresh_from_db()
    assert submission.state == "failed"
    return submission


def errored(host, submission):
    for _ in range(3):
        host.claim_next().fault()
        drive()
    submission.refresh_from_db()
    assert submission.state == "errored"
    return submission


def numbers(submission, kind="train"):
    rows = Attempt.objects.filter(run__submission=submission, kind=kind).order_by("pk")
    return list(rows.values_list("number", "state"))


def kinds():
    return list(QuotaEntry.objects.order_by("pk").values_list("kind", flat=True))


def test_a_failed_one_is_run_again_under_the_same_seed_and_ranks(olga):
    host = Host.register()
    submission = failed(host)
    seed = submission.runs.get().seed
    again(olga, submission)
    assert (submission.state, submission.reason, submission.reason_code) == ("queued", "", "")
    assert drive() == ["pipeline.rerun"]
    work = host.claim_next()
    assert work.job["seed"] == seed
    work.finish()
    drive()
    host.claim_next().finish(bpb=2.25)
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.mean_bpb) == ("ranked", 2.25)
    assert numbers(submission) == [(1, "finished"), (2, "finished")]
    assert Attempt.objects.filter(cause="crash").exists()
    assert kinds() == ["hold", "charge"]
    assert verify().ok


def test_of_several_runs_only_those_without_a_score_are_run_again(olga):
    host = Host.register()
    submission = queue(send(make_user(), make_competition(runs=3)))
    for work in [host.claim_next() for _ in range(3)]:
        work.finish()
    drive()
    scoring = [host.claim_next() for _ in range(3)]
    scoring[0].finish(bpb=1.0)
    drive()
    scoring[1].finish("eval_timeout")
    drive()
    scoring[2].finish("cancelled")
    drive()
    submission.refresh_from_db()
    assert submission.state == "failed"
    sealed = submission.runs.get(index=1).checkpoint_sha256
    again(olga, submission)
    drive()
    submission.refresh_from_db()
    assert submission.state == "scoring"
    for bpb in (2.0, 3.0):
        work = host.claim_next()
        assert (work.job["kind"], work.job["checkpoint_sha256"]) == ("score", sealed)
        work.finish(bpb=bpb)
        drive()
    submission.refresh_from_db()
    assert (submission.state, submission.n_scores) == ("ranked", 3)
    assert submission.mean_bpb == pytest.approx(2.0)
    assert len(numbers(submission)) == 3
    assert Score.objects.count() == 3


def test_three_tries_count_from_the_rerun(olga):
    host = Host.register()
    submission = errored(host, queue(send(make_user(), make_competition())))
    again(olga, submission)
    drive()
    errored(host, submission)
    assert [number for number, _ in numbers(submission)] == [1, 2, 3, 4, 5, 6]
    told = submission.events.filter(kind="attempt.lost").count()
    assert told == 6
    again(olga, submission)
    drive()
    host.run(bpb=1.5)
    submission.refresh_from_db()
    assert submission.state == "ranked"


def test_tries_at_scoring_count_from_the_rerun_too(olga):
    host = Host.register()
    submission = queue(send(make_user(), make_competition()))
    host.claim_next().finish()
    drive()
    errored(host, submission)
    again(olga, submission)
    drive()
    errored(host, submission)
    assert [number for number, _ in numbers(submission, "score")] == [1, 2, 3, 4, 5, 6]
    assert numbers(submission) == [(1, "finished")]


def test_an_errored_one_was_refunded_and_stays_free_however_it_ends(olga):
    host = Host.register()
    submission = errored(host, queue(send(make_user(), make_competition(quota={"submissions": 1}))))
    again(olga, submission)
    drive()
    errored(host, submission)
    assert kinds() == ["hold", "charge", "refund"]
    again(olga, submission)
    withdraw(user=submission.author, submission=submission)
    assert kinds() == ["hold", "charge", "refund"]


def test_a_failed_one_that_is_run_again_is_not_paid_back_by_withdrawing_it_in_the_queue(olga):
    submission = failed(Host.register())
    again(olga, submission)
    withdraw(user=submission.author, submission=submission)
    assert kinds() == ["hold", "charge"]


def test_a_failed_one_that_then_ends_on_our_side_is_refunded(olga):
    host = Host.register()
    submission = failed(host)
    again(olga, submission)
    drive()
    errored(host, submission)
    assert QuotaEntry.objects.filter(kind="refund").count() == 1


def test_the_old_end_decides_nothing_any_more(olga):
    host = Host.register()
    submission = failed(host)
    old = Attempt.objects.get()
    stale = find(old.pk)
    stale.run.state = stale.run.submission.state = "running"  # as a worker had read it before it was stopped
    again(olga, submission)
    settle(old.pk)
    drive()
    work = host.claim_next()
    steps.fail(stale, ending_of(stale))
    submission.refresh_from_db()
    assert (submission.state, submission.runs.get().state) == ("running", "running")
    work.finish()
    drive()
    host.claim_next().finish()
    drive()
    submission.refresh_from_db()
    assert submission.state == "ranked"


def test_a_lost_message_is_made_good_by_the_reaper(olga):
    host = Host.register()
    submission = failed(host)
    again(olga, submission)
    list(take("platform"))
    Submission.objects.update(deadline=later(seconds=-1))
    reap()
    host.run()
    submission.refresh_from_db()
    assert submission.state == "ranked"


def test_tidying_that_comes_late_cancels_nothing_of_what_was_sent_back(olga):
    host = Host.register()
    submission = failed(host)
    again(olga, submission)
    steps.tidy(submission.pk)
    assert (submission.runs.get().state, numbers(submission)[-1]) == ("waiting", (2, "waiting"))


def test_a_run_that_was_not_told_of_the_end_goes_on(olga):
    host = Host.register()
    submission = queue(send(make_user(), make_competition(runs=2)))
    first, second = host.claim_next(), host.claim_next()
    first.finish("crash")
    drive()
    submission.refresh_from_db()
    again(olga, submission)
    drive()
    assert second.report().json() == {"cancel": False}
    second.finish()
    drive()
    host.run(bpb=2.0)  # the first of two runs trains again, and one of both is scored
    host.claim_next().finish(bpb=2.0)
    drive()
    submission.refresh_from_db()
    assert (submission.state, len(numbers(submission))) == ("ranked", 3)


def test_what_ended_before_its_first_run_cannot_be_run_again(olga):
    submission = send(make_user(), make_competition())
    Submission.objects.update(state="errored", deadline=None, reason_code="audit_unavailable")
    with pytest.raises(Refusal) as no:
        again(olga, submission)
    assert (no.value.code, no.value.status) == ("nothing_to_rerun", 409)
    submission.refresh_from_db()
    assert submission.state == "errored"
    assert not submission.events.filter(state="queued").exists()


def test_what_its_team_has_sent_again_is_not_run_twice(olga):
    host, demo = Host.register(), make_competition()
    submission = failed(host, demo)
    newer = send(submission.author, demo)
    with pytest.raises(Refusal) as no:
        again(olga, submission)
    assert (no.value.code, no.value.data["version"]) == ("duplicate", newer.version)
    withdraw(user=submission.author, submission=newer)
    assert again(olga, submission).state == "queued"


def test_the_ledger_says_what_was_reopened_and_after_which_attempts(olga):
    submission = failed(Host.register())
    again(olga, submission)
    entries = {entry.kind: json.loads(entry.data) for entry in Entry.objects.order_by("-seq")[:2]}
    assert entries["run.reopened"] == {
        "submission": submission.pk,
        "from": "failed",
        "to": "waiting",
        "after": {"train": 1, "score": 0},
    }
    assert (entries["submission.queued"]["from"], entries["submission.queued"]["actor"]) == ("failed", olga.pk)
