"""Signing up and in, through the real addresses."""

import pytest

from leaderboard.accounts.models import User
from tests.leaderboard.cast import PASSWORD, make_user

pytestmark = pytest.mark.django_db

FORM = {"email": "ada@example.org", "username": "ada", "password1": PASSWORD}


def test_a_person_signs_up_and_is_in(client):
    assert client.get("/accounts/signup/").status_code == 200
    answer = client.post("/accounts/signup/", FORM)
    assert (answer.status_code, answer.url) == (302, "/")
    ada = User.objects.get()
    assert (ada.username, ada.is_staff) == ("ada", False)
    assert client.session["_auth_user_id"] == str(ada.pk)


@pytest.mark.parametrize("name", ["ada", "ada@example.org"])
def test_a_person_signs_in_by_name_or_mail(client, name):
    make_user("ada")
    assert client.post("/accounts/login/", {"login": name, "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize(
    "change",
    [{"password1": "short"}, {"password1": "password123"}, {"username": "ADA"}, {"username": "a b"}, {"email": "none"}],
)
def test_what_cannot_be_an_account_makes_none(client, change):
    make_user("ada", email="first@example.org")
    assert client.post("/accounts/signup/", {**FORM, **change}).status_code == 200
    assert User.objects.count() == 1


def test_one_address_has_one_account_however_it_is_typed(client):
    make_user("first", email="Ada@Example.org")
    assert client.post("/accounts/signup/", FORM).status_code == 200
    assert User.objects.get().email == "ada@example.org"
