"""The upload page: what is sent arrives byte for byte, what is refused keeps what was typed."""

from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import KNOBS, SCRIPT, later, make_competition, make_user
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db
ADDRESS = "/competitions/demo/phases/open/submit/"


def file(data):
    return SimpleUploadedFile("train.py", data if isinstance(data, bytes) else data.encode())


def send(client, **fields):
    return client.post(ADDRESS, {"launch": "python train.py", **fields})


def field(response, name):
    return next(attrs for attrs in outline(response).of("input") if attrs.get("name") == name)


def test_the_form_has_the_phases_launch_command_and_what_is_left():
    make_competition(quota={"submissions": 5, "per": "week"}, launch={"default": "torchrun --standalone train.py"})
    page = browser(make_user()).get(ADDRESS)
    assert field(page, "launch")["value"] == "torchrun --standalone train.py"
    assert "5 of 5 left this week, renews" in text(page)


def test_a_file_becomes_a_submission_and_the_browser_goes_to_its_page():
    make_competition()
    response = send(browser(make_user()), script=file(SCRIPT), note="tables")
    submission = Submission.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/submissions/{submission.pk}/")
    assert (bytes(submission.script), submission.note) == (SCRIPT.encode(), "tables")


def test_pasted_text_arrives_as_the_file_would_have():
    make_competition()
    send(browser(make_user()), text=SCRIPT.replace("\n", "\r\n"))
    assert bytes(Submission.objects.get().script) == SCRIPT.encode()


def test_bytes_that_are_no_text_arrive_too_for_the_audit_to_explain():
    make_competition()
    send(browser(make_user()), script=file(b"\xff\x00print()"))
    assert bytes(Submission.objects.get().script) == b"\xff\x00print()"


def test_an_empty_file_is_the_audits_to_reject():
    make_competition()
    send(browser(make_user()), script=file(b""))
    assert bytes(Submission.objects.get().script) == b""


@pytest.mark.parametrize(
    ("fields", "status", "sentence", "where"),
    [
        ({}, 400, "Choose a file or paste the script.", "script"),
        ({"text": SCRIPT, "launch": "python train.py; rm -rf /"}, 400, "not read by a shell", "launch"),
        ({"text": SCRIPT, "note": "x" * 201}, 400, "201 characters; 200 are allowed", "note"),
        ({"text": "#" * 5000}, 413, "The script has 5,000 bytes; this phase allows 4,096", "script"),
    ],
    ids=["nothing", "launch", "note", "size"],
)
def test_a_refusal_says_its_sentence_at_its_field_and_loses_nothing(fields, status, sentence, where):
    make_competition(limits={"script_bytes": 4096})
    typed = {"text": "", "note": "a note", "launch": "python train.py", **fields}
    response = send(browser(make_user()), **typed)
    page = response.content.decode()
    error = page[page.index(f'id="id_{where}_error"') :]
    assert response.status_code == status
    assert sentence in error[: error.index("</div>")]
    assert field(response, "launch")["value"] == typed["launch"]
    assert field(response, "note")["value"] == typed["note"]
    assert f"\n{typed['text']}</textarea>" in unescape(page)
    assert f"id_{where}_error" in str(field(response, where).get("aria-describedby"))
    assert not Submission.objects.exists()


def test_a_refused_files_text_is_kept_in_the_box():
    make_competition()
    response = send(browser(make_user()), script=file(KNOBS), launch="bash train.py")
    assert "os.environ.get(&quot;STEPS&quot;" in response.content.decode()


def test_the_same_script_again_is_refused_with_the_version_that_it_is():
    make_competition()
    client = browser(make_user())
    send(client, text=SCRIPT)
    response = send(client, text=SCRIPT)
    assert response.status_code == 409
    assert "already here as version 1" in text(response)


def test_over_quota_the_page_says_when_the_next_slot_opens_and_keeps_the_script():
    make_competition(quota={"submissions": 1})
    client = browser(make_user())
    send(client, text=SCRIPT)
    response = send(client, text=SCRIPT + "# more\n")
    assert response.status_code == 429
    assert "All 1 submissions of this day are used; the next slot opens on" in text(response)
    assert "# more" in text(response)


@pytest.mark.parametrize(
    ("dates", "sentence"),
    [
        ({"opens": later(days=-2), "closes": later(days=-1)}, "Phase open closed on"),
        ({"opens": later(days=1), "closes": later(days=2)}, "Phase open opens on"),
    ],
)
def test_outside_its_dates_a_phase_shows_no_form_and_takes_nothing_but_keeps_what_was_typed(dates, sentence):
    make_competition(**dates)
    client = browser(make_user())
    assert not outline(client.get(ADDRESS)).of("textarea")
    response = send(client, text=SCRIPT)
    assert response.status_code == 409
    assert sentence in text(response)
    assert "load_for_eval" in text(response)


def test_who_is_logged_out_meanwhile_keeps_the_script_and_a_stranger_is_sent_to_log_in():
    make_competition()
    assert browser().get(ADDRESS)["Location"] == f"/accounts/login/?next={ADDRESS}"
    response = send(browser(), text=SCRIPT)
    assert response.status_code == 401
    assert "You are logged out" in text(response)
    assert "load_for_eval" in text(response)


def test_characters_that_forms_dislike_reach_the_services():
    make_competition()
    client = browser(make_user())
    assert "printable" in text(send(client, text=SCRIPT, note="a\x00b"))
    assert send(client, text="x = '\x00'\n").status_code == 302


@pytest.mark.parametrize(
    "address", ["/competitions/none/phases/open/submit/", "/competitions/demo/phases/none/submit/"]
)
def test_a_phase_that_is_not_there_is_not_found(address):
    make_competition()
    assert browser(make_user()).get(address).status_code == 404
    assert browser(make_user()).post(address, {"text": SCRIPT}).status_code == 404
