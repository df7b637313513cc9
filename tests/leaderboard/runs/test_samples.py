"""What a run uses while it trains: kept with its progress, and nothing of the kind while it is scored."""

import pytest

from leaderboard.runs.models import Attempt
from leaderboard.runs.queries import samples
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send

pytestmark = pytest.mark.django_db(transaction=True)
SAMPLE = {"event": "sample", "cpu_seconds": 1.5, "memory_bytes": 300_000_000, "processes": 4}


def test_a_sample_of_a_training_is_kept_with_its_attempt():
    host, submission = Host.register(), queue(send(make_user(), make_competition()))
    work = host.claim_next()
    work.report(SAMPLE, {**SAMPLE, "cpu_seconds": 2.5}, {"event": "step", "step": 3, "charged": 0.5})
    attempt = Attempt.objects.get(pk=work.attempt)
    ((seconds, *used),) = samples(attempt)
    assert seconds >= 0
    assert used == [2.5, 300_000_000, 4]
    assert submission.events.get(kind="progress").data["step"] == 3


def test_an_attempt_that_follows_has_samples_of_its_own():
    host, submission = Host.register(), queue(send(make_user(), make_competition()))
    work = host.claim_next()
    work.report(SAMPLE)
    work.fault()
    drive()
    assert samples(Attempt.objects.get(run__submission=submission, number=2)) == []


def test_a_sample_with_a_hole_draws_nothing():
    host = Host.register()
    queue(send(make_user(), make_competition()))
    work = host.claim_next()
    work.report({"event": "sample", "cpu_seconds": 1.0})
    assert samples(Attempt.objects.get(pk=work.attempt)) == []


def test_what_a_model_server_uses_is_kept_nowhere():
    host, submission = Host.register(), queue(send(make_user(), make_competition()))
    host.claim_next().finish()
    drive()
    work = host.claim_next()
    work.report(SAMPLE)
    assert samples(Attempt.objects.get(pk=work.attempt)) == []
    assert not submission.events.filter(kind="progress").exists()
