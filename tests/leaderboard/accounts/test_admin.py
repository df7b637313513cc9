"""Rights given in the admin leave a trail, and only there can they be given."""

import pytest

from leaderboard.accounts.models import User
from leaderboard.ledger.models import Entry
from tests.leaderboard.cast import make_competition, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client):
    root = make_user("root", organizer=True, is_superuser=True)
    client.force_login(root)
    return root


def form_of(user: User, **changes) -> dict[str, object]:
    fields = {"username": user.username, "email": user.email, "is_active": "on", **changes}
    return {**fields, "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}


def test_making_an_organizer_is_a_ledger_entry(client, root):
    ada = make_user("ada")
    answer = client.post(f"/admin/accounts/user/{ada.pk}/change/", form_of(ada, is_staff="on"))
    assert answer.status_code == 302
    ada.refresh_from_db()
    assert ada.is_staff
    entry = Entry.objects.get()
    assert (entry.kind, entry.subject) == ("account.rights", f"user:{ada.pk}")
    assert f'"actor":{root.pk}' in entry.data
    assert "ada" not in entry.data


def test_a_change_of_mail_is_none(client, root):
    ada = make_user("ada")
    client.post(f"/admin/accounts/user/{ada.pk}/change/", form_of(ada, email="new@example.org"))
    ada.refresh_from_db()
    assert ada.email == "new@example.org"
    assert not Entry.objects.exists()


def test_who_organizes_a_competition_is_a_ledger_entry_too(client, root):
    demo, ada = make_competition(), make_user("ada")
    address = f"/admin/competitions/competition/{demo.pk}/change/"
    assert client.post(address, {"organizers": [ada.pk], "title": "Changed"}).status_code == 302
    demo.refresh_from_db()
    assert list(demo.organizers.all()) == [ada]
    assert demo.title != "Changed"
    assert Entry.objects.get().data == f'{{"actor":{root.pk},"organizers":[{ada.pk}]}}'


@pytest.mark.parametrize("model", ["ledger/entry", "accounts/apitoken", "accounts/team", "competitions/shardset"])
def test_the_rest_can_be_read_and_not_written(client, root, model):
    make_competition()
    assert client.get(f"/admin/{model}/").status_code == 200
    assert client.get(f"/admin/{model}/add/").status_code == 403
