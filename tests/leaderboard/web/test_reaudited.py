"""What a later audit leaves on organizers' pages: which report is from which policy, looks, what may stand again."""

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Policy
from leaderboard.submissions import reaudits
from leaderboard.submissions.models import Report, Submission
from reviewer import Finding
from reviewer import Report as Found
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import send, take
from tests.leaderboard.web.pages import browser, text

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "/competitions/demo/queue/"


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


def found(*findings, policy="1"):
    made = [Finding(rule, "a-name", severity, 1, 1, 1, "What.\nRemedy.") for rule, severity in findings]
    return Found.of(script_sha256="0" * 64, findings=made, policy=policy)


def audited(user, demo, state, *findings):
    """A submission in a state with the report of its first audit."""
    submission = send(user, demo, f"x = '{user}'\n")
    list(take("platform"))
    first = found(*findings)
    Report.objects.create(submission=submission, verdict=first.verdict, ruleset="4", body=first.to_json())
    Submission.objects.filter(pk=submission.pk).update(state=state, mean_bpb=2.0, ranked_at=timezone.now())
    submission.refresh_from_db()
    return submission


def read_again(submission, policy, *findings):
    before = submission.reports.latest()
    return reaudits.keep(submission, before, found(*findings, policy="spring"), policy)


@pytest.fixture
def pair():
    """A ranked one that a second policy would reject, and a rejected one that it would not."""
    demo = make_competition("demo")
    ranked = audited(make_user("ada"), demo, "ranked", ("H701", "warn"), ("K102", "review"))
    rejected = audited(make_user("cleo"), demo, "rejected", ("D301", "reject"))
    second = Policy.objects.create(competition=demo, number=2, body={})
    read_again(ranked, second, ("K101", "reject"), ("K102", "info"))
    read_again(rejected, second)
    return ranked, rejected


def test_the_page_says_which_report_is_from_which_policy_and_what_it_changed(olga, pair):
    page = text(browser(olga).get(f"{QUEUE}{pair[0].pk}/"))
    assert "The newest counts, and is what this page shows. It was sent under policy 1." in page
    assert "policy 2 (“spring”), ruleset" in page
    assert "H701 no longer; K101 reject, new; K102 review → info" in page
    assert "policy 1 (“1”), ruleset 4" in page


def test_the_queue_and_the_page_say_why_somebody_is_to_look_again(olga, pair):
    ranked, _ = pair
    queue, page = (text(browser(olga).get(place)) for place in (QUEUE, f"{QUEUE}{ranked.pk}/"))
    ruleset = ranked.reports.latest().ruleset
    assert f"v1 of ada, read again under policy 2 and ruleset {ruleset}" in queue
    assert f"read again, under policy 2 and ruleset {ruleset}, it has findings that the audit before had not." in page
    assert "it may come from" not in page
    assert browser(olga).post(f"{QUEUE}{ranked.pk}/keep/").status_code == 302
    assert "read again under policy 2" not in text(browser(olga).get(QUEUE))


def test_what_was_rejected_and_would_pass_now_is_listed_with_its_button(olga, pair):
    _, rejected = pair
    assert "Rejected, and not any more" in (page := text(browser(olga).get(QUEUE)))
    assert "v1 of cleo" in page
    assert "no quota is taken" in text(browser(olga).get(f"{QUEUE}{rejected.pk}/"))
    form = {"action": "reinstate", "reason": "The rule was wrong.", "seen": "0"}
    assert browser(olga).post(f"{QUEUE}{rejected.pk}/decide/", form).status_code == 302
    rejected.refresh_from_db()
    assert rejected.state == "accepted"
    assert "Rejected, and not any more" not in text(browser(olga).get(QUEUE))


def test_the_rules_page_says_what_is_allowed():
    body = {"allow_flags": ["--seed"], "allow_imports": ["wandb"], "only_imports": ["torch"], "allow_paths": ["/data"]}
    make_competition("demo", policy=body)
    page = text(browser().get("/competitions/demo/rules/"))
    assert "Options of the command line that a script may read: --seed." in page
    assert "Modules and functions that a script may use although a rule names them: wandb." in page
    assert "The only modules that a script may import beside Python's own and the kit: torch." in page
    assert "Folders outside of its run that a script may name: /data." in page
