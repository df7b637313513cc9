"""A ruling reopens descendants: only when an organizer says so, of exactly the list that was read, with its traces."""

import json

import pytest
from django.utils import timezone

from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.submissions import secondlook, transitions
from leaderboard.submissions.models import Event, Kin, SecondLook, State, Submission
from leaderboard.submissions.moderation import moderate
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import send, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


@pytest.fixture
def family():
    """A disqualified root, and five that descend from it in as many states."""
    demo = make_competition()
    root, *rest = (send(make_user(), demo, f"x = {n}") for n in range(6))
    list(take("platform"))
    for each in rest:
        Kin.objects.create(earlier=root, later=each, relation="near", share=0.9)
    states = ("ranked", "accepted", "running", "rejected", "in_review")
    for each, state in zip(rest, states, strict=True):
        Submission.objects.filter(pk=each.pk).update(state=state, mean_bpb=2.0, ranked_at=timezone.now())
    Submission.objects.filter(pk=root.pk).update(state="disqualified")
    return [Submission.objects.get(pk=each.pk) for each in (root, *rest)]


def reopen(organizer, submission, digest=None):
    digest = digest or secondlook.digest_of(secondlook.to_reopen(submission))
    return secondlook.reopen(organizer=organizer, submission=submission, digest=digest)


def refused(code, call, *args, **more):
    before = traces()
    with pytest.raises(Refusal) as caught:
        call(*args, **more)
    assert caught.value.code == code
    assert traces() == before


def traces():
    return SecondLook.objects.count(), Event.objects.count(), Entry.objects.count()


def test_nothing_is_reopened_by_a_ruling_alone(olga, family):
    root = family[0]
    Submission.objects.filter(pk=root.pk).update(state="ranked", mean_bpb=2.0)
    moderate(organizer=olga, submission=root, action="disqualify", reason="It read the dev shard.")
    assert not SecondLook.objects.exists()
    assert [each.state for each in secondlook.to_reopen(root)] == ["ranked", "accepted", "running"]


def test_what_is_confirmed_is_reopened_and_stays_as_it_is(olga, family):
    root, *rest = family
    done = reopen(olga, root)
    assert done == rest[:3]
    assert list(SecondLook.objects.values_list("submission", "because_of", "opened_by", "closed").order_by("pk")) == [
        (each.pk, root.pk, olga.pk, None) for each in done
    ]
    for each in rest:
        state = each.state
        each.refresh_from_db()
        assert each.state == state
    assert [look.submission for look in secondlook.open_looks(root.phase.competition)] == done
    assert secondlook.to_reopen(root) == []
    assert ledger.verify().ok


def test_event_and_entry_say_who_and_not_because_of_what(olga, family):
    root, ranked, *_ = family
    reopen(olga, root)
    event = ranked.events.get(kind="look")
    assert (event.actor, event.message, event.data) == (olga, secondlook.OPENED, {"look": "opened"})
    entries = Entry.objects.filter(kind="submission.reopened")
    assert [entry.subject for entry in entries] == [f"submission:{each.pk}" for each in family[1:4]]
    assert json.loads(entries[0].data) == {"actor": olga.pk, "state": "ranked"}
    kept = "".join(f"{entry.subject} {entry.data}" for entry in entries) + event.message + json.dumps(event.data)
    assert f"submission:{root.pk}" not in kept.split()
    assert root.team.name not in kept


def test_only_what_was_read_is_reopened(olga, family):
    root, ranked, *_ = family
    digest = secondlook.digest_of(secondlook.to_reopen(root))
    Submission.objects.filter(pk=ranked.pk).update(state="withdrawn")
    refused("changed", reopen, olga, root, digest)
    assert len(reopen(olga, root)) == 2
    refused("nothing_to_reopen", reopen, olga, root, digest)


@pytest.mark.parametrize("state", [State.RANKED, State.REJECTED, State.IN_REVIEW, State.FAILED])
def test_only_a_ruling_reopens(olga, family, state):
    Submission.objects.filter(pk=family[0].pk).update(state=state, mean_bpb=2.0)  # rejected, but by the audit
    refused("no_ruling", reopen, olga, family[0])


def test_a_rejection_by_an_organizer_is_a_ruling(olga, family):
    root = family[0]
    Submission.objects.filter(pk=root.pk).update(state="in_review")
    moderate(organizer=olga, submission=root, action="reject", reason="No.")
    assert len(reopen(olga, root)) == 3


def test_only_organizers_reopen_and_close_and_not_their_own(olga, family):
    root, ranked, *_ = family
    for somebody in (root.author, make_user()):
        refused("not_organizer", reopen, somebody, root)
        refused("not_organizer", secondlook.keep, organizer=somebody, submission=ranked)
    root.author.organizes.add(root.phase.competition)
    ranked.author.organizes.add(root.phase.competition)
    refused("own_team", reopen, root.author, root)
    reopen(olga, root)
    refused("own_team", secondlook.keep, organizer=ranked.author, submission=ranked)


def test_a_look_ends_with_the_word_that_it_stays(olga, family):
    root, ranked, *_ = family
    reopen(olga, root)
    secondlook.keep(organizer=olga, submission=ranked)
    ranked.refresh_from_db()
    assert ranked.state == "ranked"
    assert secondlook.open_look(ranked) is None
    assert ranked.events.last().message == secondlook.CLOSED
    assert Entry.objects.last().kind == "submission.kept"
    refused("no_look", secondlook.keep, organizer=olga, submission=ranked)
    assert [each.pk for each in reopen(olga, root)] == [ranked.pk]  # a later ruling may ask again


def test_a_look_ends_with_a_decision(olga, family):
    root, ranked, *_ = family
    reopen(olga, root)
    moderate(organizer=olga, submission=ranked, action="disqualify", reason="The same table.")
    moderate(organizer=olga, submission=ranked, action="reinstate", reason="Another table.")
    assert not SecondLook.objects.filter(submission=ranked, closed=None).exists()


def test_one_that_was_withdrawn_is_no_longer_listed(olga, family):
    root, ranked, *_ = family
    reopen(olga, root)
    transitions.withdraw(ranked, State.RANKED, actor=ranked.author)
    assert ranked not in [look.submission for look in secondlook.open_looks(root.phase.competition)]


@pytest.mark.parametrize("part", ["event", "entry"])
def test_looks_events_and_entries_stand_or_fall_together(olga, family, monkeypatch, part):
    def broken(**_):
        raise RuntimeError("the disk is full")

    before = traces()
    with monkeypatch.context() as patch:
        patch.setattr(*((Event.objects, "create", broken) if part == "event" else (ledger, "append", broken)))
        with pytest.raises(RuntimeError):
            reopen(olga, family[0])
    assert traces() == before
    assert len(reopen(olga, family[0])) == 3
