"""A submission's page: the audit on its lines, how far it is, what happened; and how its live parts end."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.submissions.models import Event, Submission
from leaderboard.submissions.queries import EVENTS_AT_ONCE
from tests.leaderboard.cast import KNOBS, SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db(transaction=True)


def asks(response):
    """Return the addresses that the page will ask again by itself."""
    return [unescape(url) for url in re.findall(r'hx-get="([^"]*)"', response.content.decode())]


def test_a_rejection_stands_on_its_line_with_why_and_what_to_do_instead(site):
    response = browser(site.ada).get(f"/submissions/{site.rejected.pk}/")
    page, said = response.content.decode(), text(response)
    number = KNOBS[: KNOBS.index("os.environ")].count("\n") + 1
    assert "rejected" in said
    assert "finding stops this file" in said
    assert "K101 env-read" in said
    assert re.search(rf'<li class="hit bad"><span class="n">{number}</span>.*STEPS', page)
    assert "Why" in said
    assert "Do instead" in said
    assert 'href="/competitions/demo/rules/K101"' in page
    assert "STEPS" in said[said.index("Effective configuration") :]


def test_the_whole_script_shows_each_finding_under_its_line(site):
    page = browser(site.ada).get(f"/submissions/{site.rejected.pk}/source/").content.decode()
    number = KNOBS[: KNOBS.index("os.environ")].count("\n") + 1
    marked = page[page.index(f'id="L{number}"') : page.index(f'id="L{number + 1}"')]
    assert "K101" in marked
    assert page.count('class="says"') == 1
    assert page.count('id="L') == KNOBS.count("\n")


def test_a_page_in_a_final_state_asks_nothing_more(site):
    for submission in (site.ranked, site.rejected):
        assert asks(browser(site.ada).get(f"/submissions/{submission.pk}/")) == []


def test_a_ranked_version_shows_its_score_rounded_and_its_rank(site):
    said = text(browser(site.ada).get(f"/submissions/{site.ranked.pk}/"))
    assert "2.034 bits per byte, lower is better (n = 1) · rank 1" in said
    assert "2.0344" not in said
    assert "step 2 loss 3.25" in said


def test_a_stranger_reads_the_row_of_a_ranked_version_and_no_more(site):
    said = text(browser(site.bob).get(f"/submissions/{site.ranked.pk}/"))
    assert "2.034" in said
    assert "a table of bigrams" in said
    for hidden in ("loss 3.25", "Audit", "What happened", "Seed", "Withdraw", site.ranked.script_sha256[:8]):
        assert hidden not in said


def test_findings_appear_by_asking_and_then_the_page_is_at_rest():
    ada, demo = make_user(), make_competition()
    submission, client = send(ada, demo, KNOBS), browser(ada)
    page = client.get(f"/submissions/{submission.pk}/")
    assert "appear here" in text(page)
    (question,) = asks(page)
    assert client.get(question).status_code == 204
    drive()
    answer = client.get(question)
    parts = outline(answer)
    assert parts.faults == []
    swapped = [attrs["id"] for attrs in parts.of("div") if attrs.get("hx-swap-oob") == "innerHTML"]
    assert swapped == ["history", "said", "audit"]
    assert "v1: rejected." in text(answer)
    assert "K101 env-read" in text(answer)
    assert asks(answer) == []


def test_progress_and_log_follow_a_run_and_stop_with_it():
    ada, demo, host = make_user(), make_competition(), Host.register()
    submission, client = send(ada, demo), browser(ada)
    drive()
    work = host.claim_next()
    (question,) = asks(client.get(f"/submissions/{submission.pk}/"))
    assert client.get(question).status_code == 204
    work.report(
        {"event": "started"}, {"event": "startup", "seconds": 0.25}, {"event": "step", "step": 12, "charged": 0.75}
    )
    work.log(0, b"step 12 loss 1.5\n<b>not bold</b>\x1b[31m red\x1b[0m\n")
    answer = client.get(question)
    assert "step 12 · 0:01 of 0:02 charged" in text(answer)
    assert "&lt;b&gt;not bold&lt;/b&gt; red" in answer.content.decode()
    state, log = asks(answer)
    assert client.get(log).status_code == 204
    size = len(b"step 12 loss 1.5\n<b>not bold</b>\x1b[31m red\x1b[0m\n")
    work.log(size, b"step 13 loss 1.25\n")
    more = client.get(log)
    assert text(more) == "step 13 loss 1.25"
    assert len(asks(more)) == 1
    work.finish("no_checkpoint")
    drive()
    over = client.get(state)
    assert "Failed (your script):" in text(over)
    assert asks(over) == []
    assert asks(client.get(asks(more)[0])) == []


def test_a_page_that_waits_for_the_audit_asks_soon_and_less_often_when_it_is_late():
    ada, demo = make_user(), make_competition()
    submission, client = send(ada, demo), browser(ada)
    page = client.get(f"/submissions/{submission.pk}/")
    assert 'hx-trigger="every 200ms"' in page.content.decode()
    Submission.objects.update(created=later(seconds=-6))
    (question,) = asks(page)
    answer = client.get(question)
    assert 'hx-trigger="every 1000ms"' in answer.content.decode()
    assert client.get(asks(answer)[0]).status_code == 204


def test_without_scripts_a_page_loads_itself_again_until_the_submission_is_over(site):
    waiting = send(site.ada, site.demo, SCRIPT + "# again\n")
    again = '<noscript><meta http-equiv="refresh" content="5"></noscript>'
    client = browser(site.ada)
    assert again in client.get(f"/submissions/{waiting.pk}/").content.decode()
    assert again not in client.get(f"/submissions/{site.ranked.pk}/").content.decode()


def test_the_team_takes_a_version_back_and_nobody_else_can(site):
    address = f"/submissions/{site.ranked.pk}/withdraw/"
    assert browser(site.bob).post(address).status_code == 404
    assert browser().post(address)["Location"].startswith("/accounts/login/")
    site.ranked.refresh_from_db()
    assert site.ranked.state == "ranked"
    said = text(browser(site.ada).post(address, follow=True))
    assert "withdrawn" in said
    assert browser(site.bob).get(f"/submissions/{site.ranked.pk}/").status_code == 404
    refused = browser(site.ada).post(f"/submissions/{site.rejected.pk}/withdraw/", follow=True)
    assert "is rejected; that stays as it is" in text(refused)


def test_the_script_is_handed_out_as_a_file_byte_for_byte(site):
    response = browser(site.ada).get(f"/submissions/{site.ranked.pk}/script/")
    assert response.content == SCRIPT.encode()
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="train-v1.py"'


@pytest.mark.parametrize("question", ["?run=0&attempt=1&offset=x", "?run=9&attempt=0&offset=0", "?offset=-1", ""])
def test_odd_questions_about_the_log_are_answered_with_nothing(site, question):
    response = browser(site.ada).get(f"/submissions/{site.ranked.pk}/log/{question}")
    assert (response.status_code, response.content) in [(204, b""), (200, b"")]


def test_a_long_history_ends_with_its_newest_lines_and_leaves_progress_out(site):
    start = site.ranked.events.first()
    Event.objects.bulk_create(
        Event(submission=site.ranked, at=start.at, kind=kind, state="running", message=f"{kind} {number}")
        for kind in ("progress", "run.sealed")
        for number in range(EVENTS_AT_ONCE + 1)
    )
    said = text(browser(site.ada).get(f"/submissions/{site.ranked.pk}/"))
    history = said[said.index("What happened") :]
    assert "progress 0" not in history
    assert f"run.sealed {EVENTS_AT_ONCE}" in history
    assert "run.sealed 0 " not in history


def test_a_team_finds_its_receipts_on_the_page_and_a_stranger_does_not(site):
    address = f"/api/v1/submissions/{site.ranked.pk}/receipts"
    assert f'href="{address}"' in browser(site.ada).get(f"/submissions/{site.ranked.pk}/").content.decode()
    assert address not in browser(site.bob).get(f"/submissions/{site.ranked.pk}/").content.decode()
    assert browser(site.ada).get(address).status_code == 200


def test_a_question_that_finds_nothing_new_reads_neither_script_nor_report_nor_history():
    ada, demo = make_user(), make_competition()
    submission, client = queue(send(ada, demo)), browser(ada)
    (question,) = asks(client.get(f"/submissions/{submission.pk}/"))
    with CaptureQueriesContext(connection) as asked:
        assert client.get(question).status_code == 204
    told = [query["sql"] for query in asked]
    assert len(told) <= 9, told
    for large in ('"script",', "submissions_report", '"message"'):
        assert not any(large in sql for sql in told), large


def test_figures_that_move_between_two_events_are_something_new():
    ada, demo, host = make_user(), make_competition(), Host.register()
    submission, client = queue(send(ada, demo)), browser(ada)
    work = host.claim_next()
    work.report({"event": "step", "step": 7, "charged": 0.25})
    (question,) = asks(client.get(f"/submissions/{submission.pk}/"))
    work.report({"event": "step", "step": 8, "charged": 0.5})  # too soon for another Event
    assert "step 8 · " in text(client.get(question))
    assert submission.events.filter(kind="progress").count() == 1
