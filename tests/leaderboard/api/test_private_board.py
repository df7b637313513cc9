"""The private board over the API: not there before the release, there for everybody after it."""

import pytest
from django.test import Client

from leaderboard.competitions.models import Phase
from tests.leaderboard.cast import later, make_competition, make_user, token
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


def read(user=None, shard="private", name="standings"):
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    return Client().get(f"/api/v1/competitions/demo/phases/open/{name}?shard={shard}", headers=headers)


@pytest.fixture
def ada():
    ada = make_user("ada")
    queue(send(ada, make_competition()))
    Host.register().run(bpb=2.0)
    return ada


@pytest.mark.parametrize("name", ["standings", "standings.csv"])
def test_before_the_release_it_is_sealed_but_for_organizers(ada, name):
    for user in (None, ada, make_user("bob")):
        answer = read(user, name=name)
        assert (answer.status_code, answer.json()["code"]) == (404, "sealed")
    assert read(make_user("olga", organizer=True), name=name).status_code == 200


@pytest.mark.parametrize("name", ["standings", "standings.csv"])
def test_after_the_release_it_is_open(ada, name):
    Phase.objects.update(released_at=later(seconds=-1))
    assert read(name=name).status_code == 200
    assert read().json()["shard"] == "private"
    assert read(shard="public").json()["shard"] == "public"


@pytest.mark.parametrize("shard", ["", "dev", "PRIVATE", "%00"])
def test_there_is_no_other_board(ada, shard):
    answer = read(shard=shard)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_shard")
