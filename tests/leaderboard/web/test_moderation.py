"""The organizers' pages: what waits, one submission with all that a decision needs, and where a decision leads."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.submissions import transitions
from leaderboard.submissions.models import Report, Submission
from leaderboard.submissions.moderation import moderate
from tests.leaderboard.cast import SCRIPT, make_competition, make_team, make_user
from tests.leaderboard.host import Host, queue, send, take
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db(transaction=True)
EVIL = "<script>alert(1)</script>"
LINE = SCRIPT[: SCRIPT.index("torch.save")].count("\n") + 1
QUEUE = "/competitions/demo/queue/"


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


@pytest.fixture
def demo():
    return make_competition("demo")


def waiting(user, demo, script=SCRIPT, findings=(), **more):
    """Send in a script and let an audit with these findings ask for a person."""
    submission = send(user, demo, script, **more)
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="S402", reason="S402 other-programs, line 3")
    body = {"verdict": "review", "findings": list(findings), "knobs": []}
    Report.objects.create(submission=submission, verdict="review", ruleset="1", body=body)
    list(take("platform"))
    return submission


def finding(line=LINE, severity="review", **more):
    return {
        "rule": "S402",
        "name": "other-programs",
        "severity": severity,
        "line": line,
        "end_line": line,
        "message": "starts another program\nLeave it out.",
        "snippet": "",
        **more,
    }


def address(submission, part=""):
    return f"{QUEUE}{submission.pk}/{part}"


def ranked(user, demo):
    submission = queue(send(user, demo))
    Host.register().run()
    submission.refresh_from_db()
    return submission


def decide(client, submission, **fields):
    return client.post(address(submission, "decide/"), fields, follow=True)


def test_the_queue_names_who_waits_oldest_first_with_findings_and_what_is_new(olga, demo):
    ada, bob = make_user("ada"), make_user("bob")
    waiting(ada, demo, SCRIPT, [finding(severity="reject"), finding(), finding(severity="warn")])
    waiting(bob, demo, "x = 1\ny = 2\n")
    waiting(bob, demo, "x = 1\ny = 2\nz = 3\nw = 4\n", [finding(1), finding(2)], note="counts")
    page = browser(olga).get(QUEUE)
    said = text(page)
    assert outline(page).faults == []
    assert "3 waiting for a decision" in said
    assert said.index("v1 of ada") < said.index("v1 of bob") < said.index("v2 of bob")
    assert "✕ 1 finding stops this file ? 1 for an organizer to read 1 to know" in said
    row = said[said.index("v2 of bob") :]
    assert "? 2 for an organizer to read" in row
    assert "50 % of its lines since v1 counts" in row


def test_an_empty_queue_says_what_will_appear(olga, demo):
    assert "Nothing waits. Submissions whose audit asks for a person appear here" in text(browser(olga).get(QUEUE))


def test_the_text_inside_of_a_packed_script_is_read_on_the_page_with_its_findings(olga, demo):
    inside = finding(2, view="unpacked", name="in-the-packed-text")
    submission = waiting(make_user("ada"), demo, "exec('…')\n", [inside])
    inner = [{"layer": 1, "sha256": "5" * 64, "text": f"a = 1\nb = '{EVIL}'\nc = 3\n"}]
    Report.objects.update(body={**submission.reports.get().body, "unpacked": inner})
    page = browser(olga).get(address(submission))
    markup = page.content.decode()
    assert outline(page).faults == []
    assert 'href="#U2"' in markup
    marked = markup[markup.index('id="U2"') : markup.index('id="U3"')]
    assert "starts another program" in marked
    assert markup.count('<li id="U') == 3
    assert EVIL not in markup


def test_the_page_of_one_shows_its_findings_on_their_lines_and_what_changed(olga, demo):
    ada = make_user("ada")
    waiting(ada, demo, SCRIPT, note="first")
    newer = SCRIPT.replace("range(3)", "range(5)")
    inside = finding(7, view="unpacked", snippet="os.system('x')", name="in-the-packed-text")
    submission = waiting(ada, demo, newer, [finding(LINE), inside])
    page = browser(olga).get(address(submission))
    markup, said = page.content.decode(), text(page)
    assert outline(page).faults == []
    marked = markup[markup.index(f'id="L{LINE}"') : markup.index(f'id="L{LINE + 1}"')]
    assert "starts another program" in marked
    assert "Leave it out." in marked
    assert "line 7 of the unpacked text" in said
    assert markup.count('class="says"') == 1
    assert "1 line came, 1 went" in said
    diff = markup[markup.index('class="source diff') :]
    assert diff.index('class="went"') < diff.index('class="came"')
    assert "equal lines" in said
    share = round(100 / len([line for line in SCRIPT.splitlines() if line.strip()]))
    assert f"{share} % of its lines new since v1" in said


def test_it_shows_the_teams_versions_with_verdicts_and_who_decided_what(olga, demo):
    ada = make_user("ada")
    first = waiting(ada, demo, "x = 1")
    moderate(organizer=olga, submission=first, action="reject", reason="It learns nothing.")
    second = waiting(ada, demo, "x = 2")
    client = browser(make_user("otto", organizer=True))
    versions = text(client.get(address(second)))
    versions = versions[versions.index("Versions of ada") :]
    assert "v1 Open ✕ rejected Rejected by an organizer: It learns nothing." in versions
    told = text(client.get(address(first)))
    assert "olga: Rejected by an organizer: It learns nothing." in told[told.index("What happened") :]
    assert "There is nothing to decide about it as it is." in told
    lately = text(client.get(QUEUE))
    assert "olga has rejected v1 of ada" in lately[lately.index("Decided lately") :]


def test_a_decision_leads_to_the_next_that_waits_and_after_the_last_to_the_queue(olga, demo):
    client = browser(olga)
    first, second, third = (waiting(make_user(), demo) for _ in range(3))
    middle = outline(client.get(address(second)))
    ways = {link.get("rel"): link["href"] for link in middle.of("a") if link.get("rel")}
    assert ways == {"prev": address(first), "next": address(third)}
    answer = decide(client, second, action="accept")
    assert answer.redirect_chain == [(address(third), 302)]
    assert "v1 of bob is accepted." in text(answer)
    assert decide(client, third, action="reject", reason="No.").redirect_chain == [(QUEUE, 302)]
    assert decide(client, first, action="accept").redirect_chain == [(QUEUE, 302)]
    assert sorted(Submission.objects.values_list("state", flat=True)) == ["accepted", "accepted", "rejected"]


def test_a_decision_about_what_does_not_wait_stays_with_it(olga, demo):
    waiting(make_user("bob"), demo)
    submission = ranked(make_user("ada"), demo)
    answer = decide(browser(olga), submission, action="disqualify", reason="It peeked.")
    assert answer.redirect_chain == [(address(submission), 302)]
    assert "v1 of ada is disqualified." in text(answer)


def test_the_keys_find_what_they_move_to_and_press(olga, demo):
    first, second = waiting(make_user(), demo), waiting(make_user(), demo)
    client = browser(olga)
    queue_page, page = outline(client.get(QUEUE)), outline(client.get(address(second)))
    assert [link["href"] for link in queue_page.of("a") if "data-row" in link] == [address(first), address(second)]
    assert [button["value"] for button in page.of("button") if button.get("data-key") == "a"] == ["accept"]
    assert [field["name"] for field in page.of("input") if field.get("data-key-focus") == "r"] == ["reason"]
    ids = {attrs.get("id"): attrs for _, attrs in page.tags}
    assert ids["changes"]["tabindex"] == "-1"
    assert "keys" in ids
    assert any(script.get("src", "").endswith("web/moderation.js") for script in page.of("script"))


def test_a_decision_from_the_submissions_page_leads_back_to_it(olga, demo):
    ada = make_user("ada")
    submission = ranked(ada, demo)
    client, own = browser(olga), f"/submissions/{submission.pk}/"
    page = client.get(own)
    assert outline(page).faults == []
    assert "For organizers" in text(page)
    assert "For organizers" not in text(browser(ada).get(own))
    fields = {"action": "disqualify", "reason": "It peeked.", "back": "submission", "seen": "0"}
    assert decide(client, submission, **fields).redirect_chain == [(own, 302)]
    for reader in (ada, olga):
        assert "Disqualified by an organizer: It peeked." in text(browser(reader).get(own))
    team = text(browser(ada).get("/competitions/demo/team/"))
    assert "⊘ disqualified Disqualified by an organizer: It peeked." in team
    assert browser(make_user("bob")).get(own).status_code == 404
    board = text(browser().get("/competitions/demo/phases/open/"))
    assert "ada" not in board
    assert "Reinstate" in text(client.get(address(submission)))


def test_a_missing_reason_keeps_the_page_and_a_bad_one_what_was_typed(olga, demo):
    submission, client = waiting(make_user(), demo), browser(olga)
    answer = decide(client, submission, action="reject", reason="")
    assert answer.status_code == 400
    assert "Give the reason in one sentence; its team will read it." in text(answer)
    answer = decide(client, submission, action="reject", reason="x" * 501)
    assert answer.status_code == 400
    assert 'value="' + "x" * 501 in answer.content.decode()
    assert Submission.objects.get().state == "in_review"


def test_the_second_of_two_organizers_is_told_who_was_first_and_stays(olga, demo):
    submission, otto = waiting(make_user(), demo), browser(make_user("otto", organizer=True))
    waiting(make_user(), demo)
    otto.get(address(submission))
    decide(browser(olga), submission, action="accept")
    answer = decide(otto, submission, action="reject", reason="No.", seen="0")
    assert answer.redirect_chain == [(address(submission), 302)]
    assert "olga has accepted it on" in text(answer)
    assert Submission.objects.get(pk=submission.pk).state == "accepted"


def test_the_queue_is_for_organizers_of_this_competition_and_not_there_for_others(demo):
    ada, olga = make_user("ada"), make_user("olga")
    make_competition("other").organizers.add(olga)
    submission = waiting(ada, demo)
    for somebody in (None, ada, olga):
        client = browser(somebody)
        assert client.get(QUEUE).status_code == 404
        assert client.get(address(submission)).status_code == 404
        assert client.post(address(submission, "decide/"), {"action": "accept"}).status_code == 404
        assert "Review queue" not in text(client.get("/competitions/demo/"))
    assert browser(olga).get(f"/competitions/other/queue/{submission.pk}/").status_code == 404
    assert browser(olga).post(f"/competitions/other/queue/{submission.pk}/decide/").status_code == 404
    demo.organizers.add(olga)
    assert browser(olga).get(address(submission)).status_code == 200
    assert "Review queue 1 waiting" in text(browser(olga).get("/competitions/demo/"))
    assert Submission.objects.get().state == "in_review"


def test_a_decision_is_a_post_with_its_token(olga, demo):
    submission = waiting(make_user(), demo)
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(olga)
    assert careful.get(address(submission, "decide/")).status_code == 405
    assert careful.post(address(submission, "decide/"), {"action": "accept"}).status_code == 403
    assert Submission.objects.get().state == "in_review"


@pytest.mark.parametrize("fields", [{}, {"action": "delete"}, {"action": "accept", "seen": "-1"}, {"seen": "²"}])
def test_a_form_that_nobody_sends_is_answered_and_not_stumbled_over(olga, demo, fields):
    answer = decide(browser(olga), waiting(make_user(), demo), **fields)
    assert answer.status_code in (200, 400)


def test_no_reason_note_name_or_line_becomes_markup(olga, demo):
    make_team(demo, ada := make_user("ada"), name=f"<i>{EVIL[:20]}")
    waiting(ada, demo, f"# {EVIL}\n", note=EVIL)
    last = waiting(ada, demo, f"# <img src=x onerror={EVIL}>\n", [finding(1, name=EVIL, message=EVIL)], note=EVIL)
    client = browser(olga)
    decide(client, last, action="reject", reason=f"Because of {EVIL} and `{EVIL}`")
    for place in (QUEUE, address(last), f"/submissions/{last.pk}/", f"/submissions/{last.pk}/live/"):
        for reader in (client, browser(ada)):
            page = reader.get(place).content.decode()
            assert "<script>alert" not in page
            assert "<img" not in page
            assert "<i>" not in page
    assert "Because of &lt;script&gt;alert" in client.get(address(last)).content.decode()


def test_both_pages_ask_the_database_as_often_however_much_there_is(demo):
    olga = make_user("olga")
    demo.organizers.add(olga)
    ada, client = make_user("ada"), browser(olga)

    def asked(place):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(place).status_code == 200
        return len(queries)

    first = waiting(ada, demo, "x = 0", [finding(1)])
    second = waiting(ada, demo, "x = 1", [finding(1)])
    moderate(organizer=olga, submission=first, action="reject", reason="No.")
    few = asked(QUEUE), asked(address(second))
    for number in range(6):
        moderate(
            organizer=olga,
            submission=waiting(make_user(f"rival-{number}"), demo, "x = 2", [finding(1)] * 5),
            action="reject",
            reason="No.",
        )
        waiting(ada, demo, f"x = 3 + {number}", [finding(1)])
        errored = send(make_user(f"other-{number}"), demo)
        transitions.give_up_audit(errored)
    assert (asked(QUEUE), asked(address(second))) == few
    assert max(few) <= 20
