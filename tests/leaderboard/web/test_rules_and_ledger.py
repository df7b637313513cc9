"""The rules in force, and the ledger as anybody and as an organizer reads it."""

import pytest
from django.db import transaction

from leaderboard.ledger import services as ledger
from leaderboard.web.rulebook import entry
from tests.leaderboard.cast import POLICY, later, make_competition, make_user
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db


def test_every_rule_stands_under_its_severity_here_with_why_and_instead():
    make_competition(policy={**POLICY, "rules": {"K101": "warn", "D301": "review"}, "allow_env": ["MY_CACHE"]})
    page = browser().get("/competitions/demo/rules/")
    said = text(page)
    assert "Policy number 1" in said
    assert "MY_CACHE" in said
    assert "K101 env-read ! warn" in said
    assert "D301 network ? review" in said
    rules = outline(page).of("section")
    assert {attrs["id"] for attrs in rules} >= set(POLICY["rules"])
    for heading in ("What it looks for", "Why it is refused", "Do instead"):
        assert said.count(heading) >= len(rules)


def test_a_rules_text_is_cut_into_sections_paragraphs_and_code():
    found = entry(
        "X1",
        "x",
        "warn",
        "First line.\n\n    Why it is refused\n        Because `a` is\n        so.\n\n            x = 1\n",
    )
    assert (found.summary, found.sections[0][0]) == ("First line.", "Why it is refused")
    assert found.sections[0][1] == (
        ("text", ((False, "Because "), (True, "a"), (False, " is so."))),
        ("code", "x = 1"),
    )


def test_the_ledger_shows_the_chain_to_all_and_what_it_is_about_to_organizers():
    with transaction.atomic():
        ledger.append(kind="submission.rejected", subject="submission:77", data={"code": "K101"})
    seq, digest = ledger.head()
    public = text(browser().get("/ledger/"))
    assert f"Head: entry {seq}, {digest}" in public
    assert "submission:77" not in public
    assert "submission:77" not in text(browser(make_user()).get("/ledger/"))
    assert "submission:77" in text(browser(make_user(organizer=True)).get("/ledger/"))


def test_the_first_page_lists_what_is_open_and_says_how_one_appears():
    assert "No competition yet" in text(browser().get("/"))
    make_competition(closes=later(days=3, hours=4, minutes=30))
    said = text(browser().get("/"))
    assert "Demo" in said
    assert "open Open closes in 3 d 04 h Submit" in said
