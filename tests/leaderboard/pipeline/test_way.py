"""The whole way of a submission, with the platform's worker and an agent played over HTTP."""

import pytest

from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify
from leaderboard.runs.models import Receipt, Score
from leaderboard.submissions.models import QuotaEntry
from tests.leaderboard.cast import KNOBS, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


def states(submission):
    return list(submission.events.filter(kind="state").values_list("state", flat=True))


def test_a_good_script_is_audited_trained_scored_and_ranked():
    demo, host = make_competition(), Host.register()
    submission = send(make_user(), demo)
    assert drive() == ["pipeline.audit", "pipeline.dispatch"]
    host.run(bpb=2.25)
    submission.refresh_from_db()
    assert (submission.state, submission.mean_bpb, submission.sd_bpb, submission.n_scores) == ("ranked", 2.25, None, 1)
    assert states(submission) == ["received", "auditing", "accepted", "queued", "running", "scoring", "ranked"]
    assert submission.runs.get().charged_seconds == 1.5
    assert (Score.objects.count(), Receipt.objects.count()) == (1, 2)
    assert verify().ok


def test_every_change_of_state_has_its_ledger_entry():

    demo, host = make_competition(), Host.register()
    submission = send(make_user(), demo)
    drive()
    host.run()
    kinds = Entry.objects.filter(subject=f"submission:{submission.pk}").values_list("kind", flat=True)
    assert [kind.removeprefix("submission.") for kind in kinds] == states(submission)


def test_a_row_names_the_ledger_entry_that_ranked_it():
    from leaderboard.standings.queries import board

    submission = queue(send(make_user(), make_competition()))
    Host.register().run()
    (row,) = board(submission.phase).rows
    entry = Entry.objects.get(seq=row.ledger)
    assert (entry.kind, entry.subject) == ("submission.ranked", f"submission:{submission.pk}")


def test_a_script_with_knobs_is_rejected_with_rule_and_line_and_costs_nothing():
    submission = send(make_user(), make_competition(), KNOBS)
    assert drive() == ["pipeline.audit"]
    submission.refresh_from_db()
    line = KNOBS.splitlines().index('    for step in range(int(os.environ.get("STEPS", "3"))):') + 1
    assert (submission.state, submission.reason_code) == ("rejected", "K101")
    assert f"line {line}" in submission.reason
    assert submission.reports.get().body["verdict"] == "reject"
    assert list(QuotaEntry.objects.values_list("kind", flat=True)) == ["hold", "release"]


@pytest.mark.parametrize(
    "script", [b"", b"\xff\xfe\x00", b"def broken(:\n    pass\n"], ids=["empty", "not utf-8", "syntax"]
)
def test_text_that_cannot_run_is_a_rejection_of_the_audit(script):
    submission = send(make_user(), make_competition(), script)
    drive()
    submission.refresh_from_db()
    assert submission.state == "rejected"
    assert "line 1" in submission.reason


def test_a_submission_of_three_runs_ranks_on_their_mean_and_waits_for_the_last():
    demo, host = make_competition(runs=3), Host.register()
    submission = queue(send(make_user(), demo))
    works = [host.claim_next() for _ in range(3)]
    assert len({work.job["seed"] for work in works}) == 3
    for work in works:
        work.finish()
    drive()
    for bpb in (1.0, 2.0, 3.0):
        submission.refresh_from_db()
        assert submission.state == "scoring"
        host.claim_next().finish(bpb=bpb)
        drive()
    submission.refresh_from_db()
    assert (submission.state, submission.n_scores) == ("ranked", 3)
    assert (submission.mean_bpb, submission.sd_bpb) == (pytest.approx(2.0, rel=1e-12), pytest.approx(1.0, rel=1e-12))


def test_one_failed_run_fails_the_submission_and_stops_the_others():
    demo, host = make_competition(runs=2), Host.register()
    submission = queue(send(make_user(), demo))
    first, second = host.claim_next(), host.claim_next()
    first.finish("crash", detail="Traceback …\nRuntimeError: the learning rate exploded")
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("failed", "crash")
    assert submission.reason == "The script stopped with an error: RuntimeError: the learning rate exploded"
    assert second.report({"event": "step", "step": 3, "charged": 0.2}).json() == {"cancel": True}
    second.finish("cancelled")
    drive()
    assert sorted(run.state for run in submission.runs.all()) == ["cancelled", "failed"]
    other = submission.runs.get(state="cancelled")
    assert Entry.objects.filter(kind="run.cancelled").get().subject == f"run:{other.pk}"
    assert list(take("hw.cpu")) == []


@pytest.mark.parametrize("code", ["load_failed", "nonfinite", "wrong_shape", "eval_timeout"])
def test_an_end_of_scoring_that_is_the_scripts_fails_it(code):
    demo, host = make_competition(), Host.register()
    submission = queue(send(make_user(), demo))
    host.claim_next().finish()
    drive()
    host.claim_next().finish(code)
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("failed", code)
    assert "charge" in QuotaEntry.objects.values_list("kind", flat=True)
    assert "refund" not in QuotaEntry.objects.values_list("kind", flat=True)


@pytest.mark.parametrize("bpb", [64.5, 0.0, -1.0])
def test_a_score_outside_0_to_64_fails_and_writes_no_score(bpb):
    demo, host = make_competition(), Host.register()
    submission = queue(send(make_user(), demo))
    host.claim_next().finish()
    drive()
    assert host.claim_next().finish(bpb=bpb).status_code == 200
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code, Score.objects.count()) == ("failed", "bad_metric", 0)
