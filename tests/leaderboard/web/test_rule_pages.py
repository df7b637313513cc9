"""A page for each rule, reached from every finding; and the text inside a packed script, on the script's page."""

import re

import pytest

from leaderboard.submissions import transitions
from leaderboard.submissions.models import Report
from leaderboard.web.rulebook import example, page
from reviewer import review, rules_in_force
from tests.leaderboard.cast import KNOBS, POLICY, SCRIPT, make_competition, make_user
from tests.leaderboard.host import send
from tests.leaderboard.web.pages import browser, text


@pytest.mark.django_db
def test_a_rule_has_a_page_with_its_words_and_examples():
    said = text(browser().get("/rules/K101"))
    assert "K101 env-read ✕ reject" in said
    for heading in ("What it looks for", "Why it is refused", "Do instead", "Examples that it finds"):
        assert heading in said
    assert "# !" not in said
    assert browser().get("/rules/k101").status_code == 200
    assert browser().get("/rules/K999").status_code == 404


@pytest.mark.django_db
def test_under_a_competition_it_has_that_ones_severity():
    make_competition(policy={**POLICY, "rules": {"K101": "warn"}})
    assert "K101 env-read ! warn" in text(browser().get("/competitions/demo/rules/K101"))
    assert browser().get("/competitions/demo/rules/K999").status_code == 404
    assert 'href="/competitions/demo/rules/K101"' in browser().get("/competitions/demo/rules/").content.decode()


@pytest.mark.django_db
def test_all_rules_are_listed_and_each_page_opens():
    listed = browser().get("/rules/").content.decode()
    for rule in rules_in_force():
        assert f'href="/rules/{rule.code}"' in listed
    for rule in rules_in_force()[::7]:
        assert browser().get(f"/rules/{rule.code}").status_code == 200


def test_every_rule_shows_a_place_that_it_finds():
    for rule in rules_in_force():
        found = page(rule.code, None)
        assert not rule.invalid or any(line.hit for lines in found.refused for line in lines), rule.code


def test_an_example_loses_its_marks_and_keeps_its_lines():
    lines = example("import os\nx = os.environ  # !\n# !\n'# !'\n")
    assert [(line.number, line.hit) for line in lines] == [(1, False), (2, True), (3, True), (4, False)]
    assert "#" not in lines[1].html
    assert [(line.html, line.hit) for line in example("x  # ! review\n")] == [("x", True)]
    assert "# !" in lines[3].html


@pytest.mark.django_db(transaction=True)
def test_a_packed_script_is_shown_with_the_text_inside_and_its_findings():
    ada, demo = make_user(), make_competition()
    packed = f"exec(bytes.fromhex('{KNOBS.encode().hex()}'))\n"
    submission = send(ada, demo, packed)
    transitions.start_audit(submission)
    transitions.reject(submission, code="K101", reason="x")
    report = review(packed, isolated=False)
    Report.objects.create(submission=submission, verdict="reject", ruleset="1", body=report.to_json())
    number = KNOBS[: KNOBS.index("os.environ")].count("\n") + 1
    shown = browser(ada).get(f"/submissions/{submission.pk}/source/").content.decode()
    assert shown.count('<li id="L') == 1
    assert shown.count('<li id="U') == KNOBS.count("\n")
    inside = shown[shown.index(f'id="U{number}"') : shown.index(f'id="U{number + 1}"')]
    assert 'href="/competitions/demo/rules/K101"' in inside
    assert report.unpacked[0].sha256[:16] in shown
    assert f'/source/#U{number}"' in browser(ada).get(f"/submissions/{submission.pk}/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_finding_without_a_page_leads_nowhere():
    ada, demo = make_user(), make_competition()
    submission = send(ada, demo, SCRIPT)
    transitions.start_audit(submission)
    transitions.reject(submission, code="G005", reason="x")
    body = {"verdict": "reject", "findings": [
        {"rule": "G005", "name": "control-character", "severity": "reject", "line": 1, "end_line": 1, "message": "x"}
    ]}  # fmt: skip
    Report.objects.create(submission=submission, verdict="reject", ruleset="1", body=body)
    for address in ("", "source/"):
        shown = browser(ada).get(f"/submissions/{submission.pk}/{address}").content.decode()
        assert "G005 control-character" in shown
        assert not re.search(r'href="[^"]*G005', shown)
        assert "Unpacked text" not in shown
