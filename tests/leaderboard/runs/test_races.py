"""Agents, teams and reapers at the same rows at once: one lease per attempt, locks in one order, and no change lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection, transaction

from leaderboard.core.errors import Refusal
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify
from leaderboard.pipeline import private
from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Attempt
from leaderboard.standings import commitments
from leaderboard.standings.preview import preview
from leaderboard.standings.release import release
from leaderboard.submissions.models import Submission
from leaderboard.submissions.queries import events_json
from leaderboard.submissions.services import withdraw
from leaderboard.submissions.transitions import begin_scoring
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.hidden import asked, close, rank
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*works):
    """Start all of these together, each with a connection of its own, and return what they return."""
    ready = Barrier(len(works))

    def one(work):
        try:
            ready.wait()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as crowd:
        return [future.result() for future in [crowd.submit(one, work) for work in works]]


def claims(host, attempts):
    return [(pk, host.claim(pk).status_code) for pk in attempts]


def waiting(*submissions):
    return list(Attempt.objects.filter(run__submission__in=submissions).order_by("pk").values_list("pk", flat=True))


def test_of_two_agents_racing_for_the_same_runs_each_run_is_leased_to_one():
    demo = make_competition(runs=3)
    submissions = [queue(send(make_user(), demo)) for _ in range(3)]
    attempts = waiting(*submissions)
    first, second = Host.register("first"), Host.register("second")
    answers = at_once(partial(claims, first, attempts), partial(claims, second, attempts[::-1]))
    told = Counter(answer for host in answers for answer in host)
    assert told == {(pk, status): 1 for pk in attempts for status in (200, 409)}
    leased = Entry.objects.filter(kind="attempt.leased").values_list("subject", flat=True)
    assert len(attempts) == len(leased) == len(set(leased)) == 9
    assert verify().ok
    for submission in submissions:
        assert submission.events.filter(kind="state", state="running").count() == 1


def test_claims_withdrawals_and_reapers_take_their_locks_in_one_order():
    demo, ada = make_competition(runs=4), make_user()
    submissions = [queue(send(ada, demo, f"# {number}\n")) for number in range(3)]
    attempts = waiting(*submissions)
    hosts = [Host.register("first"), Host.register("second")]
    answers = at_once(
        partial(claims, hosts[0], attempts),
        partial(claims, hosts[1], attempts[::-1]),
        lambda: [withdraw(user=ada, submission=Submission.objects.get(pk=each.pk)) for each in submissions],
        lambda: [reap() for _ in range(3)],
        lambda: [reap() for _ in range(3)],
    )
    assert {status for host in answers[:2] for _, status in host} <= {200, 409}
    assert {each.state for each in Submission.objects.all()} == {"withdrawn"}
    kinds = Counter(Entry.objects.filter(kind="submission.withdrawn").values_list("subject", flat=True))
    assert set(kinds.values()) == {1}
    assert verify().ok


def test_two_reapers_open_one_hidden_attempt_each_and_commit_once():
    host, demo = Host.register(), make_competition(advance=1)
    first, second = rank(host, demo, 2.0), rank(host, demo, 2.5)
    phase = close(first.phase)
    at_once(*[partial(private.look_at, phase)] * 4)
    hidden = Attempt.objects.filter(hidden=True)
    assert Counter(hidden.values_list("run__submission", "shard")) == {
        (first.pk, "private"): 1,
        (first.pk, "public"): 1,
        (second.pk, "private"): 1,
    }
    for work in asked(host):
        work.finish(bpb=1.5)
    at_once(*[partial(private.look_at, phase)] * 4)
    at_once(*[partial(commitments.commit, phase)] * 4)
    assert Entry.objects.filter(kind="private.committed").count() == 1


def test_a_release_and_a_withdrawal_at_once_are_one_after_the_other():
    host, demo, boss = Host.register(), make_competition(advance=0), make_user("boss", organizer=True)
    first, second = rank(host, demo, 2.0), rank(host, demo, 2.5)
    phase = close(first.phase)
    private.look_at(phase)
    for work in asked(host):
        work.finish(bpb=1.5)
    private.look_at(phase)
    digest = preview(phase).digest

    def released():
        try:
            return release(phase, digest=digest, organizer=boss).seq
        except Refusal as refusal:
            return refusal.code

    def withdrawn():
        try:
            return withdraw(user=second.author, submission=second).state
        except Refusal as refusal:
            return refusal.code

    told, gone = at_once(released, withdrawn)
    assert (told, gone) in {("stale_preview", "withdrawn"), (Entry.objects.latest("seq").seq, "released")}
    assert verify().ok


@pytest.mark.skipif(connection.vendor == "sqlite", reason="one writer at a time, alone from its start")
def test_no_event_appears_behind_one_that_was_read_already():
    submission = queue(send(make_user(), make_competition()))
    work = Host.register().claim_next()
    submission.refresh_from_db()

    def report_and_read():
        try:
            assert work.report({"event": "step", "step": 1}).status_code == 200
            return [event["id"] for event in events_json(submission)["events"]]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as crowd:
        with transaction.atomic():
            assert begin_scoring(submission)  # its Event has an id, and is not to be seen yet
            reading = crowd.submit(report_and_read)
            assert any(reading.done() or somebody_waits() for _ in range(100_000))
        seen = reading.result()
    later = [event["id"] for event in events_json(submission, after=seen[-1])["events"]]
    assert seen + later == list(submission.events.values_list("pk", flat=True))
    assert submission.events.filter(kind="progress").count() == 1


def somebody_waits():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchall())
