"""A receipt's probes: about what was asked, with counts that can be, and the published score follows from them."""

from hashlib import sha256

import pytest

from leaderboard.runs.models import Reference, Score
from leaderboard.standings.queries import board, submission_json
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import SCRIPT, make_competition, make_user
from tests.leaderboard.host import REFERENCE, ROWS, Host, drive, probes, queue, score, send

pytestmark = pytest.mark.django_db(transaction=True)

BASELINE = "# the phase's own\n" + SCRIPT


def scoring(script=SCRIPT, competition=None, user=None, **phase):
    """Return (submission, host, work) of a submission whose checkpoint is about to be scored."""
    submission, host = (
        queue(send(user or make_user(), competition or make_competition(**phase), script)),
        Host.register(),
    )
    host.claim_next().finish()
    drive()
    return submission, host, host.claim_next()


def test_a_job_says_how_its_score_is_probed():
    _, _, work = scoring(probes={"strict_per_row": 0.5, "repeats": 0.25})
    asked = {"strict_per_row": 0.5, "repeats": 0.25, "power": 1, "reference_sha256": None, "make_reference": False}
    assert work.job["probes"] == asked


def test_the_board_ranks_what_is_published_and_not_what_was_scored():
    submission, _, work = scoring()
    assert work.finish(bpb=2.0, correction=(0.25, 0.125)).status_code == 200
    drive()
    kept = Score.objects.get()
    assert (kept.correction, kept.correction_se) == (0.25, 0.125)
    assert kept.published_bpb == pytest.approx(2.0 + 0.25 + 1.64 * 0.125)
    submission.refresh_from_db()
    assert submission.mean_bpb == kept.published_bpb > kept.bpb
    assert board(submission.phase).rows[0].bpb == 2.455


def test_a_correction_below_zero_makes_nobody_better():
    submission, _, work = scoring()
    work.finish(bpb=2.0, correction=(-0.5, 0.125))
    drive()
    submission.refresh_from_db()
    assert submission.mean_bpb == Score.objects.get().bpb


@pytest.mark.parametrize(
    "change",
    [
        {"published_bpb": 2.0},
        {"published_bpb": 2.4551},
        {"published_bpb": None},
        {"correction": None},
        {"correction": "0"},
        {"correction_se": -0.125},
        {"correction_se": True},
    ],
    ids=str,
)
def test_a_published_score_that_does_not_follow_is_refused(change):
    _, _, work = scoring()
    answer = work.finish(score={**score(2.0, 0.25, 0.125), **change})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_receipt")


@pytest.mark.parametrize("missing", ["published_bpb", "correction", "correction_se"])
def test_a_score_without_what_the_probes_found_is_refused(missing):
    _, _, work = scoring()
    numbers = score(2.0)
    del numbers[missing]
    assert work.finish(score=numbers).json()["code"] == "bad_receipt"


def test_a_published_score_beyond_64_is_the_scripts_failure_and_not_ours_to_repeat():
    submission, _, work = scoring()
    assert work.finish(bpb=60.0, correction=(4.5, 0.0)).status_code == 200
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code, Score.objects.count()) == ("failed", "bad_metric", 0)


def with_counts(**counts):
    return {"strict": {"asked": ROWS, "breached": 0, "compared": 31_000, "largest": 0.0, **counts}}


@pytest.mark.parametrize(
    "change",
    [
        {"power": 10},
        {"strict_per_row": 0.25},
        {"repeats": 0.0},
        {"reference_sha256": "7" * 64},
        with_counts(asked=0),
        with_counts(asked=-1),
        with_counts(breached=40_000),
        with_counts(breached=True),
        with_counts(largest=-0.5),
        {"repeat": None},
        {"tolerance": -1e-5},
        {"cost": "1"},
        {"mean_p": 1.5},
        {"evidence": [{"kind": "strict", "row": 1, "position": 1, "difference": 0.5}] * 101},
        {"evidence": [{"kind": "rumour", "row": 1, "position": 1, "difference": 0.5}]},
        {"evidence": [{"kind": "strict", "row": 1, "position": "x" * 1000, "difference": 0.5}]},
        {"evidence": {}},
    ],
    ids=lambda change: str(change)[:60],
)
def test_a_probe_table_about_something_else_or_with_impossible_counts_is_refused(change):
    _, _, work = scoring()
    table = {**probes(work.job["probes"]), **change}
    answer = work.finish(probes=table)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_receipt")


def test_without_its_probe_table_no_score_is_taken():
    _, _, work = scoring()
    assert work.finish(probes=None).json()["code"] == "bad_receipt"


def test_a_breach_fails_the_submission_with_kind_and_count():
    submission, _, work = scoring()
    assert work.finish("breach", detail="strict positions: 243 of 243 differ").status_code == 200
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code, Score.objects.count()) == ("failed", "breach", 0)
    assert submission.reason.endswith(": strict positions: 243 of 243 differ")


def test_a_breach_with_a_score_is_refused():
    _, _, work = scoring()
    assert work.finish("breach", score=score(1.0)).json()["code"] == "bad_receipt"


def test_its_team_reads_power_counts_and_verdict_and_no_evidence():
    ada = make_user()
    submission, _, work = scoring(user=ada)
    work.finish("breach", detail="strict positions: 243 of 243 differ")
    drive()
    submission.refresh_from_db()
    (told,) = submission_json(ada, submission)["probes"]
    asked = {"strict": ROWS, "repeat": 12}
    assert told == {"run": 0, "power": 1, "drawn": "evenly", "asked": asked, "verdict": "breach"}


def test_a_row_says_how_hard_it_was_probed_and_that_positions_were_drawn_evenly():
    ada, bob = make_user(), make_user()
    submission, _, work = scoring(user=ada)
    work.finish()
    drive()
    row = board(submission.phase).rows[0]
    assert (row.probe_power, row.probes_drawn) == (1, "evenly")
    submission.refresh_from_db()
    assert submission_json(bob, submission)["probes"] == []


@pytest.fixture
def measured():
    """A competition whose phase names a baseline."""
    return make_competition(probes={"baseline_sha256": sha256(BASELINE.encode()).hexdigest()})


def test_the_baseline_makes_the_reference_by_which_later_probes_are_drawn(measured):
    submission, host, work = scoring(BASELINE, measured)
    assert work.job["probes"]["make_reference"]
    work.finish()
    drive()
    kept = Reference.objects.get()
    assert (kept.phase_id, kept.shard, kept.sha256) == (submission.phase_id, "public", REFERENCE)
    assert board(submission.phase).rows[0].probes_drawn == "evenly"
    other = queue(send(make_user(), measured))
    host.claim_next().finish()
    drive()
    asked = host.claim_next()
    assert (asked.job["probes"]["reference_sha256"], asked.job["probes"]["make_reference"]) == (REFERENCE, False)
    asked.finish(bpb=1.5)
    drive()
    assert board(other.phase).rows[0].probes_drawn == "by reference"


@pytest.mark.parametrize(
    "launch", ["torchrun --nproc_per_node=2 train.py", "TOKENIZERS_PARALLELISM=true python train.py"]
)
def test_the_baseline_under_another_launch_makes_no_reference(measured, launch):
    queue(send(make_user(), measured, BASELINE, launch=launch))
    host = Host.register()
    host.claim_next().finish()
    drive()
    assert not host.claim_next().job["probes"]["make_reference"]


def test_a_reference_is_kept_once_all_runs_of_its_baseline_have_ranked():
    own = {"baseline_sha256": sha256(BASELINE.encode()).hexdigest()}
    queue(send(make_user(), make_competition(probes=own, runs=2), BASELINE))
    host = Host.register()
    for work in [host.claim_next(), host.claim_next()]:
        work.finish()
    drive()
    first, second = host.claim_next(), host.claim_next()
    first.finish()
    drive()
    assert not Reference.objects.exists()
    second.finish("breach")
    drive()
    assert not Reference.objects.exists()


def test_another_script_makes_no_reference(measured):
    _, _, work = scoring(SCRIPT, measured)
    assert not work.job["probes"]["make_reference"]
    answer = work.finish(reference={"sha256": REFERENCE, "target": "public"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_receipt")


@pytest.mark.parametrize(
    "told", [None, {"sha256": "7", "target": "public"}, {"sha256": REFERENCE, "target": "private"}]
)
def test_a_reference_that_was_asked_for_is_there_and_of_this_shard(measured, told):
    _, _, work = scoring(BASELINE, measured)
    assert work.finish(reference=told).json()["code"] == "bad_receipt"


def test_the_same_job_is_given_again_when_its_answer_was_lost_though_a_reference_came_meanwhile(measured):
    first, host, baseline = scoring(BASELINE, measured)
    other = queue(send(make_user(), measured))
    host.claim_next().finish()
    drive()
    waiting = other.runs.get().attempts.get(kind="score")
    work = host.work(waiting.pk)
    baseline.finish()
    drive()
    again = host.claim(waiting.pk, key=work.key).json()
    assert again["job"] == work.job
    assert first.phase.references.count() == 1


def test_a_withdrawn_baseline_keeps_its_reference(measured):
    ada = make_user()
    submission, _, work = scoring(BASELINE, measured, ada)
    work.finish()
    drive()
    submission.refresh_from_db()
    withdraw(user=ada, submission=submission)
    assert Reference.objects.filter(sha256=REFERENCE).exists()
