"""Withdrawing, and who sees what."""

import pytest

from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.queries import visible
from leaderboard.submissions.services import withdraw
from leaderboard.submissions.visibility import Access, view_of
from tests.leaderboard.cast import later, make_competition, make_user
from tests.leaderboard.host import send

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_team_withdraws_its_own_and_nobody_elses():
    ada, demo = make_user(), make_competition()
    submission = send(ada, demo)
    with pytest.raises(Refusal) as no:
        withdraw(user=make_user(), submission=submission)
    assert no.value.status == 404
    withdraw(user=ada, submission=submission)
    assert withdraw(user=ada, submission=submission).state == State.WITHDRAWN


def test_what_has_ended_cannot_be_withdrawn():
    ada = make_user()
    submission = send(ada, make_competition())
    Submission.objects.filter(pk=submission.pk).update(state="failed", deadline=None)
    with pytest.raises(Refusal) as no:
        withdraw(user=ada, submission=submission)
    assert (no.value.code, no.value.status) == ("already_over", 409)


def test_a_stranger_sees_the_row_of_a_ranked_one_and_more_after_release_as_the_phase_says():
    ada, bob = make_user(), make_user()
    demo = make_competition(visibility={"logs": "never"})
    submission = send(ada, demo)
    assert view_of(bob, submission) == Access()
    with pytest.raises(Refusal) as no:
        visible(bob, submission.pk)
    assert no.value.status == 404
    submission.state, submission.mean_bpb = "ranked", 2.0
    assert view_of(bob, submission) == Access(row=True)
    submission.phase.released_at = later(hours=-1)
    seen = view_of(bob, submission)
    assert (seen.script, seen.findings, seen.seed, seen.receipt, seen.log) == (True, True, True, True, False)


def test_team_and_organizers_see_all_of_it_and_another_competitions_organizer_nothing():
    ada, bob, demo = make_user(), make_user(), make_competition()
    submission = send(ada, demo)
    make_competition().organizers.add(bob)
    assert not view_of(bob, submission).row
    demo.organizers.add(bob)
    assert view_of(bob, submission).organizer
    assert view_of(ada, submission).own
    assert view_of(make_user("olga", organizer=True), submission).script
