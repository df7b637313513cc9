"""The page on which a person lets a machine in: typed, shown, answered; nothing by a link and nothing by a GET."""

import re

import pytest
from django.core import signing
from django.test import Client

from leaderboard.accounts import device
from leaderboard.accounts.models import ApiToken, DeviceLogin
from leaderboard.web.views.device_login import SALT
from tests.leaderboard.cast import later, make_user

pytestmark = pytest.mark.django_db


def begin(**more):
    return device.start(**{"label": "ada@laptop", "scope": "submit", "address": "192.0.2.7", **more})


def browser(user, **more):
    client = Client(**more)
    client.force_login(user)
    return client


def shown(client, started):
    return client.post("/device", {"code": started.user_code})


def seal_of(response):
    return re.search(r'name="seal" value="([^"]+)"', response.content.decode())[1]


def state():
    return DeviceLogin.objects.values_list("state", flat=True).get()


def test_a_stranger_is_asked_to_log_in_and_comes_back():
    response = Client().get("/device")
    assert (response.status_code, response["Location"]) == (302, "/accounts/login/?next=/device")


def test_a_link_brings_no_code_along():
    started, client = begin(), browser(make_user())
    for name in ("code", "user_code"):
        page = client.get(f"/device?{name}={started.user_code}")
        assert page.status_code == 200
        assert started.user_code not in page.content.decode()
        assert client.post(f"/device?{name}={started.user_code}").status_code == 400
    assert client.get("/device/answer").status_code == 405
    assert state() == "pending"


def test_a_typed_code_shows_what_asks_and_decides_nothing():
    page = shown(browser(make_user("ada")), begin())
    text = page.content.decode()
    assert page.status_code == 200
    for word in ("<code>ada@laptop</code>", "192.0.2.7", "<strong>ada</strong>", "send scripts as you", "90 days"):
        assert word in text
    assert state() == "pending"
    assert "no-store" in page["Cache-Control"]


def test_a_machine_that_only_reads_says_so():
    assert "change nothing" in shown(browser(make_user()), begin(scope="read")).content.decode()


@pytest.mark.parametrize(("said", "after"), [("confirm", "approved"), ("refuse", "refused")])
def test_the_answer_is_given_once(said, after):
    ada = make_user("ada")
    client = browser(ada)
    seal = seal_of(shown(client, begin()))
    response = client.post("/device/answer", {"seal": seal, "answer": said})
    assert (response.status_code, response["Location"], state()) == (302, "/tokens/", after)
    again = client.post("/device/answer", {"seal": seal, "answer": "confirm"}, follow=True)
    assert "no longer waits" in again.content.decode()
    assert state() == after
    assert not ApiToken.objects.exists(), "the machine's own question makes the token"


def test_only_who_was_shown_it_can_answer_and_only_in_time(monkeypatch):
    ada, eve = make_user("ada"), make_user("eve")
    seal = seal_of(shown(browser(ada), begin()))
    for client, text in (
        (browser(eve), seal),
        (browser(ada), seal[:-1] + ("A" if seal[-1] != "A" else "B")),
        (browser(ada), ""),
        (browser(ada), signing.dumps([1, ada.pk])),
    ):
        page = client.post("/device/answer", {"seal": text, "answer": "confirm"}, follow=True)
        assert "no answer to a code you typed" in page.content.decode()
    monkeypatch.setattr(signing.time, "time", lambda: later(minutes=11).timestamp())
    with pytest.raises(signing.SignatureExpired):
        signing.loads(seal, salt=SALT, max_age=device.LIFE)
    browser(ada).post("/device/answer", {"seal": seal, "answer": "confirm"})
    assert state() == "pending"


@pytest.mark.parametrize("said", ["", "yes", "confirm refuse"])
def test_an_answer_that_is_none_decides_nothing(said):
    client = browser(make_user())
    client.post("/device/answer", {"seal": seal_of(shown(client, begin())), "answer": said})
    assert state() == "pending"


def test_both_forms_need_the_token_of_a_page_of_this_site():
    careful, started = browser(make_user(), enforce_csrf_checks=True), begin()
    assert careful.post("/device", {"code": started.user_code}).status_code == 403
    assert careful.post("/device/answer", {"answer": "confirm"}).status_code == 403


@pytest.mark.parametrize("code", ["BBBB-BBBB", "x", "\0", "é" * 8, "<script>alert(1)</script>", "A" * 40])
def test_a_wrong_code_is_one_sentence_under_the_field(code):
    begin()
    page = browser(make_user()).post("/device", {"code": code})
    assert page.status_code in (400, 404)
    assert page.content.decode().count('class="error"') == 1
    assert "<script>alert" not in page.content.decode()


def test_guesses_end_on_the_page_too():
    client = browser(make_user())
    answers = [client.post("/device", {"code": "BBBB-BBBB"}).status_code for _ in range(device.GUESSES + 1)]
    assert answers == [404] * device.GUESSES + [429]
    assert "wait" in client.post("/device", {"code": "BBBB-BBBB"}).content.decode()


def test_a_name_that_got_in_somehow_is_still_only_text():
    started = begin()
    DeviceLogin.objects.update(label="<b onload=alert(1)>\u202ex", address="<i>")
    client = browser(make_user())
    page = shown(client, started)
    assert "<b onload" not in page.content.decode()
    assert "<i>" not in page.content.decode()
    told = client.post("/device/answer", {"seal": seal_of(page), "answer": "confirm"}, follow=True)
    assert "<b onload" not in told.content.decode()
