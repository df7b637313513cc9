"""The audit's task: its verdict counts once, and what is the host's doing is never told as the script's."""

import re

import pytest

import reviewer
from leaderboard.pipeline import reaper, tasks
from leaderboard.pipeline.reaper import reap
from leaderboard.submissions import transitions
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import KNOBS, SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import drive, each_audit_ends_by, send

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_two_audits_the_one_that_decides_leaves_its_report(monkeypatch):
    submission = send(make_user(), make_competition())
    review = reviewer.review

    def slow(*args, **options):
        """Take so long that the audit was started again, and is over, before this one is."""
        monkeypatch.setattr(reviewer, "review", review)
        transitions.restart_audit(Submission.objects.get(pk=submission.pk))
        tasks.audit(submission.pk)
        return reviewer.Report.of(script_sha256="0" * 64, findings=[])

    monkeypatch.setattr(reviewer, "review", slow)
    tasks.audit(submission.pk)
    submission.refresh_from_db()
    assert submission.state == "accepted"
    assert submission.reports.get().body["script_sha256"] == submission.script_sha256


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM"])
def test_a_child_that_somebody_ended_is_ours_and_the_audit_is_repeated(monkeypatch, end):
    submission = send(make_user(), make_competition())
    with monkeypatch.context() as host:
        each_audit_ends_by(host, end)
        assert drive() == ["pipeline.audit"]
    submission.refresh_from_db()
    assert (submission.state, submission.reports.count()) == ("received", 0)
    Submission.objects.update(deadline=later(seconds=-1))
    reap()
    drive()
    submission.refresh_from_db()
    assert submission.state == "queued"


def test_a_host_that_cannot_audit_ends_in_errored_with_a_refund_and_not_in_a_rejection(monkeypatch):
    each_audit_ends_by(monkeypatch, "SIGKILL")
    submission = send(make_user(), make_competition(), SCRIPT)
    for _ in range(reaper.AUDITS):
        drive()
        Submission.objects.update(deadline=later(seconds=-1))
        reap()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("errored", "audit_unavailable")
    assert list(submission.quota_entries.values_list("kind", flat=True)) == ["hold", "refund"]


@pytest.mark.parametrize("odd", ["\\0", "\\ud800", "\\x1b[31m"])
def test_a_report_can_be_kept_whatever_the_constants_of_the_script_spell(odd):
    """No database keeps a lone surrogate in a text, and PostgreSQL no NUL."""
    script = KNOBS.replace('"STEPS", "3"', f'"STEPS{odd}", "3{odd}"')
    submission = send(make_user(), make_competition(), script)
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("rejected", "K101")
    kept = "".join(texts(submission.reports.get().body)) + submission.reason
    assert "STEPS" in kept
    assert not re.search("[\0\ud800-\udfff]", kept)


def texts(value):
    """Yield every text in a value of JSON."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def test_the_audit_knows_the_launch_command():
    ada, demo = make_user(), make_competition(launch={"processes": [1, 2]})
    alone = send(ada, demo, SCRIPT)
    drive()
    both = send(ada, demo, SCRIPT, launch="torchrun --standalone --nproc_per_node=2 train.py")
    drive()
    assert "T904" not in {finding["rule"] for finding in alone.reports.get().body["findings"]}
    both.refresh_from_db()
    assert both.state == "in_review"
    (said,) = both.reports.get().body["findings"]
    assert (said["rule"], said["severity"]) == ("T904", "review")
    assert said["message"].startswith("The launch command starts 2 processes")
