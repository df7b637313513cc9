"""Kinship, second looks, and what a report says beside its findings: on organizers' pages, and nowhere else."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.ledger.models import Entry
from leaderboard.submissions import kinship, transitions
from leaderboard.submissions.models import Kin, Report, SecondLook, Submission
from leaderboard.submissions.moderation import moderate
from leaderboard.submissions.queries import submission_json
from tests.leaderboard.cast import POLICY, make_competition, make_user
from tests.leaderboard.hidden import rank
from tests.leaderboard.host import Host, send, take
from tests.leaderboard.standings.test_canary import people, walk
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "/competitions/demo/queue/"
FACTS = {
    "findings": [],
    "knobs": [],
    "drift": {
        "knobs_before": 2,
        "knobs_now": 5,
        "knobs_added": ["WIDTH_KNOB"],
        "knobs_removed": [],
        "functions_added": [],
        "functions_removed": ["old_secret"],
        "functions_changed": ["Model.forward"],
        "sections_changed": ["Loader"],
    },
    "sections": [
        {"name": "Loader", "grade": "changed", "baseline": "2026-02"},
        {"name": "Model", "grade": "ast-identical", "baseline": "2026-01"},
    ],
    "claims": [
        {"line": 3, "about": "env", "text": "no <b>environment</b> read", "contradicted_by": ["K101"]},
        {"line": 9, "about": "pure", "text": "pure", "contradicted_by": []},
    ],
    "unpacked": [{"layer": 1, "sha256": "0", "text": "the_inner_script"}],
}


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


@pytest.fixture
def demo():
    return make_competition("demo")


@pytest.fixture
def family(demo):
    """Ada's, from which cleo's copy, dan's ranked one and ada's own next version descend."""
    ada = make_user("ada")
    host = Host.register()
    root, copy, third, own = (
        rank(host, demo, 2.0 + n / 8, user=user, script=f"x = {n}\n")
        for n, user in enumerate((ada, make_user("cleo"), make_user("dan"), ada))
    )
    Kin.objects.create(earlier=root, later=copy, relation="code", share=1.0)
    Kin.objects.create(earlier=copy, later=third, relation="near", share=0.83)
    Kin.objects.create(earlier=root, later=own, relation="near", share=0.61)
    return root, copy, third, own


def address(submission, part=""):
    return f"{QUEUE}{submission.pk}/{part}"


def disqualified(olga, submission):
    return moderate(organizer=olga, submission=submission, action="disqualify", reason="It read the dev shard.")


def test_the_line_of_descent_stands_on_the_organizers_page_earliest_first(olga, family):
    root, copy, *_ = family
    page = browser(olga).get(address(copy))
    assert outline(page).faults == []
    said = text(page)
    said = said[said.index("Line of descent") : said.index("Versions of")]
    assert "v1 of ada Open nothing before it another ● ranked" in said
    assert "v1 of cleo Open v1 of ada: the same code but for names and constants the same ● ranked" in said
    assert "v1 of dan Open v1 of cleo: 83 % of the same code another ● ranked" in said
    assert said.index("v1 of ada Open") < said.index("v1 of cleo Open") < said.index("v1 of dan Open")
    assert "v2 of ada" not in said
    assert "v2 of ada Open v1 of ada: 61 % of the same code the same" in text(browser(olga).get(address(root)))


def test_a_ruling_offers_its_descendants_and_changes_nothing_before_they_are_confirmed(olga, family):
    root, _, third, _ = family
    client = browser(olga)
    assert "may come from it …" not in text(client.get(address(root)))
    disqualified(olga, root)
    assert "Look again at 3 that may come from it …" in text(client.get(address(root)))
    before = Entry.objects.count()
    asked = client.post(address(root, "reopen/"))
    assert outline(asked).faults == []
    said = text(asked)
    assert "3 later submissions are kin to it" in said
    assert all(name in said for name in ("v1 of cleo", "v1 of dan", "v2 of ada"))
    assert (SecondLook.objects.count(), Entry.objects.count()) == (0, before)
    confirm = next(attrs["value"] for attrs in outline(asked).of("button") if attrs.get("name") == "confirm")
    answer = client.post(address(root, "reopen/"), {"confirm": confirm}, follow=True)
    assert answer.redirect_chain == [(address(root), 302)]
    assert "3 submissions will be looked at again" in text(answer)
    assert SecondLook.objects.count() == 3
    queue = text(client.get(QUEUE))
    queue = queue[queue.index("To be looked at again") :]
    assert "v1 of dan, because of v1 of ada" in queue
    look = client.get(address(third))
    assert outline(look).faults == []
    assert "it may come from v1 of ada, which is disqualified" in text(look)
    answer = client.post(address(third, "keep/"), follow=True)
    assert "v1 of dan stays as it is." in text(answer)
    assert "To be looked at again" not in text(answer)
    assert set(Submission.objects.exclude(pk=root.pk).values_list("state", flat=True)) == {"ranked"}


def test_a_list_that_has_changed_is_shown_anew(olga, family):
    root, *_ = family
    disqualified(olga, root)
    answer = browser(olga).post(address(root, "reopen/"), {"confirm": "0" * 16}, follow=True)
    assert "The list has changed since you read it" in text(answer)
    assert not SecondLook.objects.exists()


@pytest.mark.parametrize("who", ["ada", "cleo", "somebody", None])
def test_for_others_these_addresses_are_not_there(family, who):
    root = family[0]
    user = {"ada": family[0].author, "cleo": family[1].author, "somebody": make_user("somebody"), None: None}[who]
    client = browser(user) if user else browser()
    assert client.get(address(root)).status_code == 404
    for part in ("reopen/", "keep/"):
        assert client.post(address(root, part), {"confirm": "x"}).status_code == 404
        assert client.get(address(root, part)).status_code == 405


def test_no_address_tells_anybody_else_who_is_kin_to_whom(family, monkeypatch):
    """Every answer of the site to every other person is the same, to the last byte, with kin and without."""
    root, *_ = family
    make_competition("another").organizers.add(make_user("otto"))
    clients, now = people("ada", "cleo", "otto"), timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)

    def read():
        return {
            f"{name}: {where}": answer
            for name, client in clients.items()
            for where, answer in walk(client, root, [1]).items()
        }

    with_kin = read()
    Kin.objects.all().delete()
    without = read()
    assert len(with_kin) > 200
    assert [where for where, answer in with_kin.items() if without[where] != answer] == []


def test_a_team_reads_that_it_is_looked_at_and_not_why(olga, family):
    root, copy, *_ = family
    disqualified(olga, root)
    browser(olga).post(address(root, "reopen/"), {"confirm": _digest(root)})
    page = text(browser(copy.author).get(f"/submissions/{copy.pk}/"))
    assert "An organizer looks at it again. Meanwhile it stays as it is." in page
    assert "ada" not in page.replace("cleo", "")
    assert f"submission:{root.pk}" not in "".join(
        Entry.objects.filter(subject=f"submission:{copy.pk}").values_list("data", flat=True)
    )


def _digest(root):
    from leaderboard.submissions import secondlook

    return secondlook.digest_of(secondlook.to_reopen(root))


def reported(user, demo, body):
    submission = send(user, demo, "x = 1")
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="F801", reason="F801")
    Report.objects.create(submission=submission, verdict="review", ruleset="4", body=body)
    list(take("platform"))
    return submission


@pytest.mark.parametrize("who", ["team", "organizer"])
def test_drift_sections_and_claims_stand_beside_the_findings(olga, demo, who):
    ada = make_user("ada")
    submission = reported(ada, demo, FACTS)
    where = f"/submissions/{submission.pk}/" if who == "team" else address(submission)
    page = browser(ada if who == "team" else olga).get(where)
    assert outline(page).faults == []
    said = text(page)
    assert "Loader ✕ changed differs from 2026-02" in said
    assert "Model ✓ the same code 2026-01" in said
    assert "Since the version before: knobs 2 → 5" in said
    assert "Knobs added WIDTH_KNOB Functions removed old_secret Functions changed Model.forward" in said
    assert "What it says of itself: 2 claims" in said
    assert "finds otherwise: K101" in said
    assert "<b>environment" not in page.content.decode()


@pytest.mark.parametrize("body", [{}, {"findings": [], "drift": None, "sections": [], "claims": []}])
def test_reports_from_before_say_nothing_of_it(olga, demo, body):
    said = text(browser(olga).get(address(reported(make_user(), demo, body))))
    assert not [words for words in ("Frozen sections", "Since the version before", "says of itself") if words in said]


def test_a_stranger_reads_neither_drift_nor_the_text_of_a_script_that_stays_closed(demo):
    closed = make_competition("closed", visibility={"scripts": "never"})
    for contest, opened in ((demo, True), (closed, False)):
        submission = reported(make_user(), contest, FACTS)
        contest.phases.update(released_at=submission.created)
        Submission.objects.filter(pk=submission.pk).update(state="ranked", mean_bpb=2.0)
        submission = Submission.objects.select_related("phase__competition", "team").get(pk=submission.pk)
        mine = submission_json(submission.author, submission, runs=[], standing=None)["report"]
        theirs = submission_json(make_user(), submission, runs=[], standing=None)["report"]
        assert mine == FACTS
        assert theirs["drift"] is None
        assert theirs["unpacked"] == (FACTS["unpacked"] if opened else [])
        assert theirs["sections"] == FACTS["sections"]


def test_the_rules_page_shows_what_is_frozen():
    accepted = [{"name": "first", "date": "2026-01-01", "text": "def load():\n    return 'frozen text'"}]
    sections = [{"name": "Loader", "banner": "Dataloader", "accepted": accepted}]
    make_competition("demo", policy={**POLICY, "sections": sections})
    page = browser().get("/competitions/demo/rules/")
    assert outline(page).faults == []
    said = text(page)
    assert "Frozen sections" in said
    assert "first, accepted since 2026-01-01" in said
    assert "return 'frozen text'" in said


def test_a_large_family_costs_the_page_no_more_queries(olga, demo):
    client = browser(olga)
    first = reported(make_user(), demo, FACTS)
    Kin.objects.create(earlier=first, later=reported(make_user(), demo, FACTS), relation="near", share=0.7)

    def asked():
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address(first)).status_code == 200
        return len(queries)

    few = asked()
    for _ in range(8):
        Kin.objects.create(earlier=first, later=reported(make_user(), demo, FACTS), relation="near", share=0.7)
    assert len(kinship.descendants(first)) == 9
    assert asked() == few
