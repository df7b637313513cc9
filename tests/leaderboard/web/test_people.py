"""Accounts, tokens and teams by page."""

import pytest

from leaderboard.accounts.models import ApiToken, Team
from leaderboard.accounts.services import token_of_text
from tests.leaderboard.cast import PASSWORD, make_competition, make_team, make_user, token
from tests.leaderboard.web.pages import browser, outline, text

pytestmark = pytest.mark.django_db


def test_a_token_is_shown_once_in_an_answer_that_nothing_keeps():
    ada = make_user()
    client = browser(ada)
    response = client.post("/tokens/", {"name": "laptop", "days": "30"})
    secret = next(word for word in text(response).split() if word.startswith("hold_"))
    assert token_of_text(secret).user == ada
    assert "no-store" in response["Cache-Control"]
    assert secret not in client.get("/tokens/").content.decode()
    assert "laptop" in text(client.get("/tokens/"))


@pytest.mark.parametrize(
    "fields", [{"name": "", "days": "30"}, {"name": "x", "days": "0"}, {"name": "x", "days": "400"}]
)
def test_a_token_that_is_refused_is_not_made_and_the_page_says_why(fields):
    response = browser(make_user()).post("/tokens/", fields)
    assert response.status_code == 400
    assert 'class="error"' in response.content.decode()
    assert not ApiToken.objects.exists()


def test_a_revoked_token_is_gone_and_only_its_owner_can_revoke_it():
    ada, bob = make_user(), make_user()
    token(ada)
    mine = ada.tokens.get()
    browser(bob).post(f"/tokens/{mine.pk}/revoke/")
    assert ada.tokens.exists()
    assert "revoked" in text(browser(ada).post(f"/tokens/{mine.pk}/revoke/", follow=True))
    assert not ada.tokens.exists()


def test_a_team_is_named_once_and_a_taken_name_stays_in_the_form():
    demo = make_competition()
    make_team(demo, make_user(), name="Lattice")
    client = browser(make_user())
    refused = client.post("/competitions/demo/team/", {"name": "lattice"})
    assert refused.status_code == 409
    assert "Another team here is called 'lattice'." in text(refused)
    assert any(attrs.get("value") == "lattice" for attrs in outline(refused).of("input"))
    assert "You compete as Moss." in text(client.post("/competitions/demo/team/", {"name": "Moss"}, follow=True))
    assert Team.objects.count() == 2


def test_log_in_by_name_or_address_and_log_out_by_post():
    ada = make_user("ada")
    for login in ("ada", ada.email):
        client = browser()
        answer = client.post("/accounts/login/", {"login": login, "password": PASSWORD}, follow=True)
        assert "Log out ada" in text(answer)
        assert "Log out ada" in text(client.get("/accounts/logout/"))  # asking is not doing
        assert "Log in" in text(client.post("/accounts/logout/", follow=True))


def test_a_wrong_password_says_so_and_keeps_the_name():
    make_user("ada")
    answer = browser().post("/accounts/login/", {"login": "ada", "password": "wrong"})
    assert 'role="alert"' in answer.content.decode()
    assert any(attrs.get("value") == "ada" for attrs in outline(answer).of("input"))
    assert outline(answer).faults == []


def test_signing_up_logs_in():
    fields = {"email": "new@example.org", "username": "newcomer", "password1": PASSWORD}
    assert "Log out newcomer" in text(browser().post("/accounts/signup/", fields, follow=True))
