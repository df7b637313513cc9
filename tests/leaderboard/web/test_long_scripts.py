"""A page about a script stays readable, and small, however long the script and its lines are."""

import pytest

from leaderboard.submissions import transitions
from leaderboard.submissions.models import Report
from leaderboard.web.changes import changes
from leaderboard.web.findings import shown
from leaderboard.web.source import MARKUP, fitting
from tests.leaderboard.cast import SCRIPT, make_competition, make_user
from tests.leaderboard.host import send
from tests.leaderboard.web.pages import browser

HIDDEN = "\u200b" * 1_800  # as long as a coloured line may be; drawn, each of its characters is spelled out


def finding(line):
    return {"rule": "K101", "name": "env-read", "severity": "review", "line": line, "end_line": line, "message": "x"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("lines", ["\n" * 100_000, f"{HIDDEN}\n" * 40])
def test_a_long_script_is_shown_in_part_with_every_line_that_a_finding_is_about(lines):
    ada, olga, demo = make_user(), make_user("olga", organizer=True), make_competition()
    text = SCRIPT + lines + "last = 1\n"
    submission, count = send(ada, demo, text), text.count("\n")
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="K101", reason="x")
    body = {"verdict": "review", "findings": [finding(count), finding(1)]}
    Report.objects.create(submission=submission, verdict="review", ruleset="1", body=body)
    for address, who in (
        (f"/submissions/{submission.pk}/source/", ada),
        (f"/competitions/demo/queue/{submission.pk}/", olga),
    ):
        page = browser(who).get(address).content.decode()
        assert len(page) < 2 * MARKUP
        cut = count - page.count('<li id="L')
        assert 0 < cut < count
        assert f"{cut:,} more lines are not shown" in page
        assert f'href="/submissions/{submission.pk}/script/"' in page
        assert f'<li id="L{count}" class="hit warn">' in page
        assert f'<li id="L{count - 1}"' not in page


@pytest.mark.django_db(transaction=True)
def test_of_an_ordinary_script_nothing_is_cut():
    ada = make_user()
    submission = send(ada, make_competition(), SCRIPT)
    page = browser(ada).get(f"/submissions/{submission.pk}/source/").content.decode()
    assert page.count('<li id="L') == SCRIPT.count("\n")
    assert "not shown" not in page


def test_many_findings_on_long_lines_do_not_repeat_them_without_end():
    found = shown({"findings": [finding(1 + number % 50) for number in range(500)]}, f"{HIDDEN}\n" * 50)
    assert sum(len(line.html) for each in found for line in each.lines) <= MARKUP
    assert len(found) == 500
    assert found[0].lines


def test_a_comparison_of_long_lines_ends_where_a_page_does():
    new = "\n".join(f"{HIDDEN}{number}" for number in range(200))
    found = changes("", new)
    assert sum(len(row.html) for row in found.rows) <= MARKUP
    assert found.rows
    assert len(found.rows) + found.hidden == 201


def test_so_many_lines_fit_as_are_asked_for_or_as_there_are():
    assert [fitting(["x"] * 5, 3), fitting(["x"] * 2, 3), fitting([""] * 5, 5), fitting([], 3)] == [3, 2, 5, 0]
    assert fitting(["x" * MARKUP, "x", "x"], 3) == 1
