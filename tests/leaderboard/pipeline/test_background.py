"""What an audit is told of the versions before: the last one that could be read, and how many knobs each had."""

import pytest

from leaderboard.pipeline import tasks
from leaderboard.submissions.background import context_of
from leaderboard.submissions.models import Report, Submission
from reviewer import Context
from tests.leaderboard.cast import SCRIPT, make_competition, make_phase, make_user
from tests.leaderboard.host import send, take

pytestmark = pytest.mark.django_db(transaction=True)


def audited(user, demo, text, knobs=0, findings=(), **more):
    """Send a script and leave the report of an audit that found so many knobs, one of them in two places."""
    submission = send(user, demo, text, **more)
    list(take("platform"))
    told = [{"key": f"K{n}"} for n in range(knobs)]
    body = {"findings": list(findings), "knobs": told + told[:1]}
    Report.objects.create(submission=submission, verdict="accept", ruleset="4", body=body)
    return submission


def test_a_first_version_has_nothing_before_it():
    assert context_of(send(make_user(), make_competition())) == Context()


def test_the_last_five_versions_are_counted_oldest_first_and_the_last_one_is_read():
    ada, demo = make_user(), make_competition()
    make_phase(demo, "next", closes=demo.phases.get().closes)
    for number, knobs in enumerate((9, 5, 5, 6, 8)):
        audited(ada, demo, f"x = {number}", knobs)
    audited(make_user(), demo, "y = 1", 40)
    audited(ada, demo, "x = 'é'", 12, phase="next")
    assert context_of(send(ada, demo, "z = 1")) == Context("x = 'é'", (5, 5, 6, 8, 12))


def test_what_the_gate_turned_away_or_nobody_has_audited_is_passed_over():
    ada, demo = make_user(), make_competition()
    audited(ada, demo, "x = 1", 3)
    audited(ada, demo, "x = (", 0, [{"rule": "G011", "severity": "reject"}])
    audited(ada, demo, b"\xff", 0, [{"rule": "G003", "severity": "reject"}])
    send(ada, demo, "x = 2")
    assert context_of(send(ada, demo, "z = 1")) == Context("x = 1", (3,))


def test_of_several_reports_the_newest_counts():
    ada, demo = make_user(), make_competition()
    first = audited(ada, demo, "x = 1", 3)
    Report.objects.create(submission=first, verdict="accept", ruleset="5", body={"knobs": [{"key": "A"}]})
    assert context_of(send(ada, demo, "z = 1")).knob_counts == (1,)


def test_the_report_of_a_second_version_says_what_has_drifted():
    ada, demo = make_user(), make_competition(policy={"rules": {"K101": "info"}})
    tasks.audit(send(ada, demo, SCRIPT).pk)
    knobs = "".join(f'K{n} = os.environ.get("K{n}", "1")\n' for n in range(3))
    grown = SCRIPT.replace("import torch\n", f"import os\n\nimport torch\n\n{knobs}").replace(
        "step in range(3)", "step in []"
    )
    second = send(ada, demo, grown)
    tasks.audit(second.pk)
    body = second.reports.get().body
    assert (body["drift"]["knobs_before"], body["drift"]["knobs_now"]) == (0, 3)
    assert body["drift"]["functions_changed"] == ["main"]
    assert [f["severity"] for f in body["findings"] if f["rule"] == "K105"] == ["warn"]
    assert Submission.objects.get(pk=second.pk).state == "accepted"
