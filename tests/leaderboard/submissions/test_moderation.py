"""What organizers decide: each verb's way, what it leaves behind, what it is refused for, and who wins a race."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.standings.queries import board, submission_json
from leaderboard.submissions import transitions
from leaderboard.submissions.models import Event, QuotaEntry, State, Submission
from leaderboard.submissions.moderation import REASON_CHARACTERS, VERBS, Action, moderate, possible
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Its table was built from the <b>dev</b> shard."


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


def in_review(user=None, demo=None):
    submission = send(user or make_user(), demo or make_competition())
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="K102", reason="K102 cli-flag, line 3")
    list(take("platform"))
    return submission


def ranked(demo=None, bpb=2.25):
    submission = queue(send(make_user(), demo or make_competition()))
    Host.register(f"host-{submission.pk}").run(bpb=bpb)
    submission.refresh_from_db()
    assert submission.state == "ranked"
    return submission


def do(organizer, submission, action, reason=WHY, **more):
    return moderate(organizer=organizer, submission=submission, action=action, reason=reason, **more)


def refusal(*args, **more):
    before = traces()
    with pytest.raises(Refusal) as caught:
        do(*args, **more)
    assert traces() == before
    return caught.value


def traces():
    return list(Submission.objects.values_list("pk", "state")), Event.objects.count(), Entry.objects.count()


def last_entry():
    entry = Entry.objects.last()
    return entry.kind, json.loads(entry.data)


def test_accepting_charges_and_goes_on(olga):
    submission = in_review()
    assert do(olga, submission, "accept", "").state == "accepted"
    assert list(take("platform")) == [("pipeline.dispatch", [submission.pk])]
    assert QuotaEntry.objects.filter(kind="charge").count() == 1
    event = submission.events.last()
    assert (event.actor, event.message, event.data) == (
        olga,
        "An organizer looked at it and accepted it.",
        {"action": "accept"},
    )


def test_rejecting_is_free_and_the_team_reads_why(olga):
    submission = in_review()
    do(olga, submission, "reject")
    assert (submission.state, submission.reason_code) == ("rejected", "organizer")
    assert submission.reason == f"Rejected by an organizer: {WHY}"
    assert submission.events.last().message == submission.reason
    assert QuotaEntry.objects.filter(kind="release").count() == 1


@pytest.mark.parametrize("action", ["reject", "disqualify"])
def test_the_ledger_names_the_organizer_by_id_and_the_reason_by_its_hash(olga, action):
    submission = in_review() if action == "reject" else ranked()
    old = submission.state
    do(olga, submission, action, f"  {WHY}\n ")
    kind, data = last_entry()
    assert kind == f"submission.{submission.state}"
    assert data == {
        "from": old,
        "to": submission.state,
        "code": submission.reason_code,
        "actor": olga.pk,
        "action": action,
        "reason_sha256": hashlib.sha256(WHY.encode()).hexdigest(),
    }
    assert "dev" not in "".join(Entry.objects.values_list("data", flat=True))


def test_a_disqualified_row_leaves_the_board_and_comes_back_as_it_stood(olga):
    demo = make_competition()
    ranked(demo, bpb=2.0)
    submission = ranked(demo, bpb=1.75)
    phase = demo.phases.get()
    before = board(phase).rows
    stood = Submission.objects.values("mean_bpb", "sd_bpb", "n_scores", "ranked_at").get(pk=submission.pk)
    do(olga, submission, "disqualify")
    assert [row.bpb for row in board(phase).rows] == [2.0]
    assert (submission.state, submission.reason) == ("disqualified", f"Disqualified by an organizer: {WHY}")
    do(olga, submission, "reinstate", "The shard was another one.")
    assert board(phase).rows == before
    assert Submission.objects.values("mean_bpb", "sd_bpb", "n_scores", "ranked_at").get(pk=submission.pk) == stood
    assert (submission.state, submission.reason, submission.reason_code) == ("ranked", "", "")
    assert last_entry()[0] == "submission.reinstated"
    assert submission.events.last().message == "Reinstated by an organizer: The shard was another one."
    assert ledger.verify().ok


def test_a_teams_next_best_version_stands_while_its_best_is_disqualified(olga):
    demo, ada, host = make_competition(), make_user("ada"), Host.register()
    for number, bpb in enumerate((2.0, 1.5)):
        submission = queue(send(ada, demo, f"# {number}"))
        host.run(bpb=bpb)
        submission.refresh_from_db()
    do(olga, submission, "disqualify")
    assert [(row.team, row.bpb) for row in board(demo.phases.get()).rows] == [("ada", 2.0)]


def test_a_stranger_finds_nothing_of_a_disqualified_one_and_its_team_state_and_reason(olga):
    submission = ranked()
    do(olga, submission, "disqualify")
    assert submission_json(make_user(), submission)["reason"] is None
    for inside in (submission.author, olga):
        body = submission_json(inside, submission)
        assert (body["state"], body["standing"]) == ("disqualified", None)
        assert body["reason"] == {"code": "disqualified", "message": f"Disqualified by an organizer: {WHY}"}


def test_a_running_one_that_is_disqualified_stops_and_goes_on_when_it_is_reinstated(olga):
    host = Host.register()
    submission = queue(send(make_user(), make_competition(runs=2)))
    first, second = host.claim_next(), host.claim_next()
    first.finish()
    drive()
    submission.refresh_from_db()
    do(olga, submission, "disqualify")
    assert second.report().json() == {"cancel": True}
    second.finish("cancelled")
    drive()
    assert sorted(submission.runs.values_list("state", flat=True)) == ["cancelled", "cancelled"]
    seeds = list(submission.runs.values_list("seed", flat=True))
    do(olga, submission, "reinstate")
    assert submission.state == "queued"
    drive()
    list(map(host.work, sorted(pk for _, (pk,) in take("hw.cpu") if waits(pk))))  # offers of what is over lead nowhere
    assert list(submission.runs.values_list("seed", flat=True)) == seeds
    assert sorted(submission.runs.values_list("state", flat=True)) == ["running", "scoring"]
    submission.refresh_from_db()
    assert submission.state == "running"


def waits(pk):
    from leaderboard.runs.models import Attempt

    return Attempt.objects.get(pk=pk).state == "waiting"


def test_what_had_finished_unseen_when_it_was_disqualified_counts_when_it_is_reinstated(olga):
    host = Host.register()
    submission = queue(send(make_user(), make_competition()))
    work = host.claim_next()
    submission.refresh_from_db()
    do(olga, submission, "disqualify")
    work.finish()
    drive()
    assert submission.runs.get().state == "cancelled"
    do(olga, submission, "reinstate")
    drive()
    host.claim_next().finish(bpb=2.0)
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.mean_bpb) == ("ranked", 2.0)
    assert submission.runs.get().attempts.filter(kind="train").count() == 1


@pytest.mark.parametrize("action", list(Action))
def test_only_an_organizer_of_this_competition_decides(action):
    submission = in_review()
    elsewhere = make_user()
    make_competition().organizers.add(elsewhere)
    for somebody in (submission.author, make_user(), elsewhere):
        no = refusal(somebody, submission, action)
        assert (no.code, no.status) == ("not_organizer", 403)
    submission.phase.competition.organizers.add(elsewhere)
    assert do(elsewhere, submission, "accept").state == "accepted"


@pytest.mark.parametrize("state", list(State))
def test_an_action_is_for_its_states_only(olga, state):
    submission = ranked()
    Submission.objects.update(state=state)
    submission.refresh_from_db()
    allowed = possible(submission)
    for action in set(Action) - set(allowed):
        no = refusal(olga, submission, action)
        assert (no.code, no.status) == ("wrong_state", 409)
        assert f"This submission is {State(state).label.lower()}; {action} is for one that is" in no.message
    assert all(state in VERBS[action].states for action in allowed)


@pytest.mark.parametrize("action", ["reject", "disqualify", "reinstate", "rerun"])
@pytest.mark.parametrize("reason", ["", "   ", "\n"])
def test_a_reason_is_required(olga, action, reason):
    assert refusal(olga, in_review(), action, reason).code == "reason_missing"


@pytest.mark.parametrize("reason", ["x" * (REASON_CHARACTERS + 1), "bell\a", "nul\0", "turn \u202e back", "\ud800"])
def test_a_reason_is_one_short_line_of_printable_text(olga, reason):
    no = refusal(olga, in_review(), "reject", reason)
    assert (no.code, no.status) == ("bad_reason", 400)


def test_an_action_that_does_not_exist_is_named_with_those_that_do(olga):
    no = refusal(olga, in_review(), "delete")
    assert no.message == "There is no such action; there are accept, reject, disqualify, reinstate, rerun."


def test_the_second_of_two_organizers_hears_who_decided_what(olga):
    submission, otto = in_review(), make_user("otto", organizer=True)
    stale = Submission.objects.get(pk=submission.pk)
    do(olga, submission, "accept", "")
    no = refusal(otto, stale, "reject")
    assert (no.code, no.status, no.data) == ("decided", 409, {"state": "accepted"})
    assert no.message.startswith("olga has accepted it on ")
    assert no.message.endswith("it is accepted, and nothing was changed now.")


def test_a_decision_that_was_not_seen_goes_before_one_that_the_state_would_allow(olga):
    submission, otto = ranked(), make_user("otto", organizer=True)
    do(olga, submission, "disqualify")
    do(olga, submission, "reinstate")
    assert refusal(otto, submission, "disqualify", seen=0).code == "decided"
    seen = submission.events.filter(data__action="reinstate").get().pk
    assert do(otto, submission, "disqualify", seen=seen).state == "disqualified"


def test_where_nobody_was_first_the_state_is_what_stands_against_it(olga):
    submission = in_review()
    do(olga, submission, "accept", "")
    known = submission.events.get(data__action="accept").pk
    for action, more in (("reject", {"seen": known}), ("rerun", {}), ("reinstate", {"seen": known})):
        no = refusal(olga, submission, action, **more)
        assert (no.code, no.status) == ("wrong_state", 409)
        assert no.message.startswith(f"This submission is accepted; {action} is for one that is ")


def race(*decisions):
    """Carry out decisions at once, each in a thread with a connection of its own; return how each ended."""
    line = Barrier(len(decisions))

    def one(decision):
        try:
            line.wait(30)
            decision()
        except Refusal as no:
            return no.code
        else:
            return "done"
        finally:
            connection.close()

    with ThreadPoolExecutor(len(decisions)) as crowd:
        return sorted(crowd.map(one, decisions))


@pytest.mark.parametrize("first", ["accept", "reject"])
def test_of_many_organizers_at_once_one_decides(first):
    submission = in_review()
    people = [make_user(f"organizer-{n}", organizer=True) for n in range(8)]

    def deciding(person, action):
        return lambda: do(person, Submission.objects.get(pk=submission.pk), action)

    other = "reject" if first == "accept" else "accept"
    ends = race(*(deciding(person, first if n % 2 else other) for n, person in enumerate(people)))
    assert ends == ["decided"] * 7 + ["done"]
    assert Event.objects.filter(data__has_key="action").count() == 1
    assert Entry.objects.filter(kind__in=["submission.accepted", "submission.rejected"]).count() == 1
    assert ledger.verify().ok


def test_of_a_disqualification_and_a_withdrawal_at_once_one_stands(olga):
    from leaderboard.submissions.services import withdraw

    submission = ranked()

    def disqualify():
        do(olga, Submission.objects.get(pk=submission.pk), "disqualify")

    def take_back():
        withdraw(user=submission.author, submission=Submission.objects.get(pk=submission.pk))

    ends = set(race(disqualify, take_back))
    submission.refresh_from_db()
    assert ends == {"done", "already_over" if submission.state == "disqualified" else "wrong_state"}


@pytest.mark.parametrize("part", ["event", "entry"])
@pytest.mark.parametrize("action", list(Action))
def test_state_event_and_entry_stand_or_fall_together(olga, monkeypatch, action, part):
    if action in ("accept", "reject"):
        submission = in_review()
    else:
        submission = ranked()
        if action == "rerun":
            Submission.objects.update(state="failed")
            submission.runs.update(state="failed")
        if action == "reinstate":
            do(olga, submission, "disqualify")

    def broken(**_):
        raise RuntimeError("the disk is full")

    before = traces()
    with monkeypatch.context() as patch:
        patch.setattr(*((Event.objects, "create", broken) if part == "event" else (ledger, "append", broken)))
        with pytest.raises(RuntimeError):
            do(olga, submission, action)
    assert traces() == before
    assert do(olga, submission, action).pk
