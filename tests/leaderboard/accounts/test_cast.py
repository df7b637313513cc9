"""The cast itself: what other tests take for granted."""

import pytest

from leaderboard.accounts.services import team_of, token_of_text
from tests.leaderboard.cast import later, make_competition, make_phase, make_team, make_user, token

pytestmark = pytest.mark.django_db


def test_a_competition_has_one_open_phase_and_a_second_can_follow():
    demo = make_competition(quota={"submissions": 1}, runs=3)
    phase = demo.phases.get()
    assert (phase.slug, phase.state(), phase.rules.runs) == ("open", "open", 3)
    assert (phase.rules.quota.submissions, phase.rules.quota.per) == (1, "day")
    final = make_phase(demo, "final", opens=later(days=8), closes=later(days=9))
    assert (final.position, final.state()) == (1, "upcoming")


def test_people_have_distinct_names_a_team_and_a_token():
    demo, ada, bob = make_competition(), make_user(), make_user()
    team = make_team(demo, ada, bob)
    assert ada.username != bob.username
    assert team_of(bob, demo) == team
    assert token_of_text(token(ada)).user == ada
