"""States: the table is whole, a change leaves its traces, a lost race leaves none."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from leaderboard.ledger.models import Entry
from leaderboard.submissions import transitions
from leaderboard.submissions.models import FINAL, Event, State, Submission
from leaderboard.submissions.states import EDGES, waiting
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import send

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_state_has_edges_or_is_final_and_can_be_reached():
    assert set(EDGES) == set(State)
    for state in State:
        if state in FINAL:
            assert waiting(state) is None
        else:
            assert EDGES[state]
            assert waiting(state).owner
    reached = set().union(*EDGES.values()) | {State.RECEIVED}
    assert reached == set(State)


def test_every_state_that_waits_leads_to_a_final_one():
    ends = set(FINAL)
    for _ in State:
        ends |= {state for state in State if EDGES[state] & ends}
    assert ends == set(State)


def test_only_a_person_may_wait_without_a_deadline():
    assert [s for s in State if s not in FINAL and waiting(s).look_after is None] == [State.IN_REVIEW]


def test_a_change_writes_state_event_and_ledger_entry():
    submission = send(make_user(), make_competition())
    assert transitions.start_audit(submission)
    row = Submission.objects.get()
    assert (row.state, row.deadline) == (State.AUDITING, submission.deadline)
    assert Event.objects.last().state == State.AUDITING
    entry = Entry.objects.last()
    assert (entry.kind, entry.subject) == ("submission.auditing", f"submission:{row.pk}")
    assert json.loads(entry.data) == {"from": "received", "to": "auditing"}


def test_a_lost_race_returns_false_and_leaves_nothing():
    submission = send(make_user(), make_competition())
    assert transitions.start_audit(submission)
    before = Event.objects.count(), Entry.objects.count()
    assert not transitions.start_audit(submission)
    assert (Event.objects.count(), Entry.objects.count()) == before


def test_of_twenty_at_once_one_wins():
    submission = send(make_user(), make_competition())

    def begin(_):
        try:
            return transitions.start_audit(Submission.objects.get(pk=submission.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as crowd:
        assert sum(crowd.map(begin, range(20))) == 1
    assert Event.objects.filter(state=State.AUDITING).count() == 1


def test_a_change_that_the_table_does_not_have_is_an_error():
    submission = send(make_user(), make_competition())
    with pytest.raises(ValueError, match="no edge"):
        transitions.fail(submission, State.RANKED, code="crash", reason="No.")


def test_the_ledger_holds_no_names_and_no_sentences():
    ada = make_user("ada-lovelace")
    submission = send(ada, make_competition(), note="a secret of ada-lovelace")
    transitions.start_audit(submission)
    transitions.reject(submission, code="K101", reason="line 3 of ada-lovelace")
    assert "lovelace" not in "".join(Entry.objects.values_list("data", flat=True))
