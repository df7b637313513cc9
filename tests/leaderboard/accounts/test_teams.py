"""One team per person and competition, whoever asks and however often at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from leaderboard.accounts.models import Membership, Team
from leaderboard.accounts.services import ensure_team, team_of
from leaderboard.core.errors import Refusal
from tests.leaderboard.cast import make_competition, make_user


@pytest.mark.django_db
def test_a_team_is_made_once_and_named_after_its_maker():
    demo, ada = make_competition(), make_user("ada")
    assert team_of(ada, demo) is None
    team = ensure_team(user=ada, competition=demo)
    assert team.name == "ada"
    assert ensure_team(user=ada, competition=demo, name="other") == team == team_of(ada, demo)


@pytest.mark.django_db
def test_another_competition_has_another_team():
    ada = make_user()
    one, two = make_competition(), make_competition()
    assert ensure_team(user=ada, competition=one) != ensure_team(user=ada, competition=two)


@pytest.mark.django_db
def test_a_name_that_is_taken_is_refused_when_asked_for_and_numbered_when_not():
    demo, ada, bob = make_competition(), make_user("ada"), make_user("bob")
    ensure_team(user=ada, competition=demo, name="Bob")
    with pytest.raises(Refusal) as refused:
        ensure_team(user=bob, competition=demo, name="bob")
    assert (refused.value.code, refused.value.status) == ("team_name_taken", 409)
    assert ensure_team(user=bob, competition=demo).name == "bob-2"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "  ", "x" * 41, "a\u202eb", "a\x00b"])
def test_a_name_must_be_printable_and_short(name):
    with pytest.raises(Refusal, match="name"):
        ensure_team(user=make_user(), competition=make_competition(), name=name)


@pytest.mark.django_db
def test_a_long_user_name_makes_a_short_team_name():
    demo = make_competition()
    first = ensure_team(user=make_user("x" * 100, email="a@example.org"), competition=demo)
    second = ensure_team(user=make_user("x" * 101, email="b@example.org"), competition=demo)
    assert (first.name, second.name) == ("x" * 40, "x" * 38 + "-2")


@pytest.mark.django_db
def test_the_database_holds_one_team_per_person_and_competition():
    demo, ada, bob = make_competition(), make_user(), make_user()
    ensure_team(user=ada, competition=demo)
    other = ensure_team(user=bob, competition=demo)
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(user=ada, team=other, competition=demo)


@pytest.mark.django_db(transaction=True)
def test_twenty_first_requests_at_once_make_one_team():
    demo, ada = make_competition(), make_user()

    def ask(_: int) -> int:
        try:
            return ensure_team(user=ada, competition=demo).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(ask, range(20)))) == 1
    assert Team.objects.count() == Membership.objects.count() == 1
