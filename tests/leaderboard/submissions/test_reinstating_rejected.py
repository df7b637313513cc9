"""What the audit has rejected and a later audit lets pass: an organizer, and nobody else, can reinstate it."""

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Phase, Policy
from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.submissions import quota, reaudits
from leaderboard.submissions.models import Report, Submission
from leaderboard.submissions.moderation import Action, moderate, possible
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import drive, send, take

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "The rule was wrong."


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


@pytest.fixture
def rejected():
    """A submission that the audit has rejected, in a phase with one place a day."""
    submission = send(make_user("ada"), make_competition(quota={"submissions": 1}), "x = 1\n")
    drive()
    submission.refresh_from_db()
    assert submission.state == "rejected"
    return Submission.objects.select_related("phase__competition", "team").get(pk=submission.pk)


def read_again(submission, verdict="accept"):
    policy = Policy.objects.get()
    body = {"verdict": verdict, "findings": []}
    return Report.objects.create(submission=submission, policy=policy, verdict=verdict, ruleset="5", body=body)


def refusal(*args, code="wrong_state", **more):
    before = Entry.objects.count()
    with pytest.raises(Refusal) as caught:
        moderate(organizer=args[0], submission=args[1], action="reinstate", reason=WHY, **more)
    assert (caught.value.code, Entry.objects.count()) == (code, before)
    return caught.value.message


@pytest.mark.parametrize("verdict", ["accept", "review"])
def test_an_organizer_reinstates_it_and_it_runs_at_no_cost(olga, rejected, verdict):
    assert possible(rejected) == []
    read_again(rejected, verdict)
    assert possible(rejected) == [Action.REINSTATE]
    assert list(reaudits.standing_again(rejected.phase.competition)) == [rejected]
    moderate(organizer=olga, submission=rejected, action="reinstate", reason=WHY)
    assert (rejected.state, rejected.reason, rejected.reason_code) == ("accepted", "", "")
    assert rejected.events.last().message == (f"Read again under other rules, and accepted by an organizer: {WHY}")
    assert list(take("platform")) == [("pipeline.dispatch", [rejected.pk])]
    assert quota.standing(rejected.team, rejected.phase).used == 0
    assert list(rejected.quota_entries.values_list("kind", flat=True)) == ["hold", "release"]
    assert Entry.objects.last().kind == "submission.accepted"
    assert list(reaudits.standing_again(rejected.phase.competition)) == []
    assert ledger.verify().ok


def test_what_every_audit_rejects_stays_rejected(olga, rejected):
    assert refusal(olga, rejected).endswith("reinstate is for one that is disqualified, or that a later audit passes.")
    read_again(rejected)
    read_again(rejected, "reject")
    assert possible(rejected) == []
    assert list(reaudits.standing_again(rejected.phase.competition)) == []
    refusal(olga, rejected)


def test_what_an_organizer_rejected_is_not_for_a_later_audit_to_question(olga, rejected):
    Submission.objects.filter(pk=rejected.pk).update(reason_code="organizer")
    rejected.refresh_from_db()
    read_again(rejected)
    assert possible(rejected) == []
    assert list(reaudits.standing_again(rejected.phase.competition)) == []
    refusal(olga, rejected)


def test_the_same_script_sent_again_counts_and_not_this_one(olga, rejected):
    read_again(rejected)
    twin = send(rejected.author, rejected.phase.competition, "x = 1\n")
    list(take("platform"))
    assert refusal(olga, rejected, code="duplicate") == (
        f"Its team has sent the same script again, as version {twin.version}; that one counts."
    )


def test_after_the_release_nothing_runs_any_more(olga, rejected):
    read_again(rejected)
    Phase.objects.update(released_at=timezone.now())
    rejected.phase.refresh_from_db()
    assert possible(rejected) == []
    refusal(olga, rejected, code="released")


def test_its_own_organizer_and_strangers_cannot(rejected):
    read_again(rejected)
    refusal(rejected.author, rejected, code="not_organizer")
    rejected.phase.competition.organizers.add(rejected.author)
    refusal(rejected.author, rejected, code="own_team")
