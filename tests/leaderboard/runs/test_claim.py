"""Leases and capabilities: one attempt, one host, while it shows life; the late, the strange and the second: no."""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from django.db import connection

from leaderboard.pipeline.reaper import reap
from leaderboard.runs.jobs import job_for, name_of
from leaderboard.runs.models import Agent, Attempt, Run
from leaderboard.submissions.services import withdraw
from scoring import receipt as receipts
from scoring.job import Job
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def host():
    return Host.register()


def attempt_of(submission):
    return Attempt.objects.get(run__submission=submission)


def no(answer, code, status):
    return (answer.json()["code"], answer.status_code) == (code, status) and answer.json()["message"].endswith(".")


def test_a_message_carries_the_id_alone_and_a_claim_gives_the_job(host):
    submission = queue(send(make_user(), make_competition(), launch="torchrun --nproc_per_node=2 train.py"))
    attempt = attempt_of(submission)
    assert list(take("hw.cpu")) == [("agent.execute", [attempt.pk])]
    assert attempt.sent_at is not None
    work = host.work(attempt.pk)
    job = Job.model_validate(work.job)
    assert (job.kind, job.script_sha256, job.launch.processes) == ("train", submission.script_sha256, 2)
    assert (job.seed, job.host) == (submission.runs.get().seed, None)
    assert work.call("get", "script").content == SCRIPT.encode()
    submission.refresh_from_db()
    assert (submission.state, submission.runs.get().state) == ("running", "running")


def test_only_the_hash_of_a_capability_is_kept(host):
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    work = host.work(attempt.pk)
    row = Attempt.objects.filter(pk=attempt.pk).values().get()
    assert work.capability not in str(row)
    assert host.key not in str(Agent.objects.values())


def test_an_attempt_is_claimed_once(host):
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    host.work(attempt.pk)
    assert no(host.claim(attempt.pk), "not_claimable", 409)
    assert no(Host.register("second").claim(attempt.pk), "not_claimable", 409)


def test_of_twenty_claims_at_once_one_wins():
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    hosts = [Host.register(f"host-{number}") for number in range(20)]

    def claim(host):
        try:
            return host.claim(attempt.pk).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as crowd:
        assert sorted(crowd.map(claim, hosts)) == [200] + [409] * 19


def test_a_claim_whose_answer_was_lost_may_be_repeated_with_the_same_keys(host):
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    key = receipts.new_key()
    first = host.claim(attempt.pk, key=key).json()
    second = host.claim(attempt.pk, key=key)
    assert second.status_code == 200
    assert second.json()["capability"] != first["capability"]
    assert second.json()["job"] == first["job"]


def test_wrong_hardware_and_weak_isolation_and_unknown_attempts_are_refused(host):
    attempt = attempt_of(queue(send(make_user(), make_competition(isolation="full"))))
    assert no(Host.register("gpu", "h200").claim(attempt.pk, isolation="full"), "not_claimable", 409)
    assert no(host.claim(attempt.pk, isolation="user"), "not_claimable", 409)
    assert no(host.claim(attempt.pk, isolation="perfect"), "not_claimable", 409)
    assert no(host.claim(attempt.pk + 1), "not_claimable", 409)
    assert host.claim(attempt.pk, isolation="full").status_code == 200


def test_an_unknown_or_revoked_key_is_nobody(host):
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    assert no(Host("agent_nonsense").claim(attempt.pk), "not_authenticated", 401)
    Agent.objects.update(revoked=True)
    assert no(host.claim(attempt.pk), "not_authenticated", 401)


def test_a_capability_is_for_its_own_attempt_and_no_other(host):
    demo = make_competition()
    mine, other = (attempt_of(queue(send(make_user(), demo))) for _ in range(2))
    work, their = host.work(mine.pk), host.work(other.pk)
    their.capability = work.capability
    for answer in (their.call("get", "script"), their.report(), their.log(0, b"x"), their.finish(), their.fault()):
        assert no(answer, "not_authenticated", 401)
    work.capability = host.key
    assert no(work.report(), "not_authenticated", 401)


def test_after_the_end_a_capability_opens_nothing(host):
    work = host.work(attempt_of(queue(send(make_user(), make_competition()))).pk)
    receipt = work.receipt()
    assert work.hand_in(receipt).json() == {"accepted": True}
    assert work.hand_in(receipt).json() == {"accepted": True}
    assert no(work.hand_in({**receipt, "seed": 1}), "other_receipt", 409)
    for answer in (work.call("get", "script"), work.report(), work.log(0, b"x"), work.fault()):
        assert no(answer, "attempt_over", 410)


def test_a_sign_of_life_extends_the_lease(host):
    attempt = attempt_of(queue(send(make_user(), make_competition())))
    work = host.work(attempt.pk)
    Attempt.objects.update(lease_until=later(seconds=1))
    assert work.report().json() == {"cancel": False}
    attempt.refresh_from_db()
    assert attempt.lease_until > later(seconds=20)


def test_a_lease_that_ran_out_is_good_until_the_attempt_is_taken_back(host):
    work = host.work(attempt_of(queue(send(make_user(), make_competition()))).pk)
    for call in (lambda: work.call("get", "script"), work.report, lambda: work.log(0, b"x"), work.finish):
        Attempt.objects.update(lease_until=later(hours=-1))
        assert call().status_code == 200
    assert Attempt.objects.get(pk=work.attempt).state == "finished"
    late = host.work(attempt_of(queue(send(make_user(), make_competition()))).pk)
    Attempt.objects.update(lease_until=later(seconds=-1))
    reap()
    for answer in (late.call("get", "script"), late.report(), late.log(0, b"x"), late.finish()):
        assert no(answer, "attempt_over", 410)


def test_events_become_progress_a_few_times_and_not_at_every_step(host):
    submission = queue(send(make_user(), make_competition()))
    work = host.work(attempt_of(submission).pk)
    for step in range(1, 6):
        work.report({"event": "startup", "seconds": 0.5}, {"event": "step", "step": step, "charged": step / 10})
    run = Run.objects.get()
    assert (run.step, run.charged_seconds, run.startup_seconds) == (5, 0.5, 0.5)
    progress = submission.events.filter(kind="progress")
    assert progress.count() == 1
    assert progress.get().data == {"run": 0, "step": 1, "charged_seconds": 0.1, "startup_seconds": 0.5}


def test_runs_beside_each_other_each_have_their_progress(host):
    submission = queue(send(make_user(), make_competition(runs=2)))
    works = [host.work(attempt.pk) for attempt in Attempt.objects.order_by("run__index")]
    for _ in range(2):
        for work in works:
            work.report({"event": "step", "step": 1})
    progress = submission.events.filter(kind="progress")
    assert [event.data["run"] for event in progress] == [0, 1]


@pytest.mark.parametrize(
    "event", [{"event": "step", "step": -1}, {"event": "step", "charged": 1e300}, {"step": 3}, {"event": 7}]
)
def test_an_event_that_makes_no_sense_is_refused(host, event):
    work = host.work(attempt_of(queue(send(make_user(), make_competition()))).pk)
    assert no(work.report(event), "bad_request", 400)


def test_a_withdrawn_submission_tells_its_host_to_stop(host):
    ada = make_user()
    submission = queue(send(ada, make_competition()))
    work = host.work(attempt_of(submission).pk)
    withdraw(user=ada, submission=submission)
    assert work.report().json() == {"cancel": True}
    waiting = queue(send(ada, submission.phase.competition, "# another"))
    withdraw(user=ada, submission=waiting)
    assert no(host.claim(attempt_of(waiting).pk), "not_claimable", 409)


def test_what_an_attempt_is_called_counts_nothing(settings):
    submissions = [queue(send(make_user(), make_competition())) for _ in range(3)]
    first, second, third = Attempt.objects.filter(run__submission__in=submissions).order_by("pk")
    names = [name_of(attempt) for attempt in (first, second, third)]
    assert all(re.fullmatch(r"a[0-9a-f]{16}", name) for name in names)
    assert job_for(first)["attempt_id"] == names[0]
    steps = {int(later[1:], 16) - int(earlier[1:], 16) for earlier, later in pairwise(names)}
    assert len(steps) == 2
    settings.SECRET_KEY = "another"
    assert name_of(first) != names[0]


def test_a_checkpoint_is_scored_by_the_agent_that_sealed_it_and_the_reaper_offers_it_until_that_one_comes(host):
    other = Host.register("other")
    submission = queue(send(make_user(), make_competition()))
    host.claim_next().finish()
    drive()
    scoring = submission.runs.get().attempts.get(kind="score")
    assert list(take("hw.cpu")) == [("agent.execute", [scoring.pk])]
    answer = other.claim(scoring.pk)
    assert no(answer, "not_claimable", 409)
    assert "lies on the host that trained it" in answer.json()["message"]
    Attempt.objects.filter(pk=scoring.pk).update(created=later(minutes=-1), sent_at=later(minutes=-1))
    reap()
    assert host.claim_next().attempt == scoring.pk


def test_of_an_agent_that_was_revoked_nobody_waits_to_come(host):
    submission = queue(send(make_user(), make_competition()))
    host.claim_next().finish()
    drive()
    Agent.objects.update(revoked=True)
    scoring = submission.runs.get().attempts.get(kind="score")
    assert Host.register("other").claim(scoring.pk).status_code == 200


def test_a_run_that_was_trained_again_is_scored_where_its_newest_checkpoint_lies(host):
    submission = queue(send(make_user(), make_competition()))
    host.claim_next().fault()
    drive()
    other = Host.register("other")
    other.claim_next().finish()
    drive()
    scoring = submission.runs.get().attempts.get(kind="score")
    assert host.claim(scoring.pk).status_code == 409
    assert other.claim(scoring.pk).status_code == 200
