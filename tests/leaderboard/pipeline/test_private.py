"""After a phase has closed the private shard is scored, and nothing that a competitor reads changes."""

import pytest

from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.pipeline import private
from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Attempt, HiddenResult, Reference, Run, Score
from leaderboard.standings.commitments import commitment_of, openings
from leaderboard.submissions.models import Event, Submission
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user
from tests.leaderboard.hidden import an_hour_passes, asked, close, rank, score_hidden
from tests.leaderboard.host import REFERENCE, Host, drive, queue, send, take

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def host():
    return Host.register()


def public_tables():
    """Return everything that pages, API and ledger are made from, as it stands."""
    tables = (Submission, Run, Event, Entry)
    return {table.__name__: list(table.objects.order_by("pk").values()) for table in tables}


def hidden():
    return Attempt.objects.filter(hidden=True).order_by("pk")


def test_nothing_is_asked_of_the_private_shard_while_the_phase_is_open(host):
    rank(host, make_competition(), 2.0)
    reap()
    assert not hidden().exists()


def test_after_the_close_the_version_that_each_team_stands_with_is_scored_and_no_other(host):
    demo, ada = make_competition(advance=0), make_user()
    best = rank(host, demo, 2.0, user=ada)
    rank(host, demo, 2.5, user=ada, script=SCRIPT + "# second\n")
    other = rank(host, demo, 2.25)
    close(best.phase)
    reap()
    works = asked(host)
    assert {work.job["shards"]["target"] for work in works} == {"private"}
    assert {work.job["shards"]["commitment"] for work in works} == {"b" * 64}
    assert sorted(hidden().values_list("run__submission", flat=True)) == [best.pk, other.pk]
    reap()
    assert hidden().count() == 2


def test_entries_inside_the_cut_are_probed_again_ten_times_as_hard_and_get_no_second_score(host):
    demo = make_competition(advance=1)
    first, second = rank(host, demo, 2.0), rank(host, demo, 2.5)
    close(first.phase)
    reap()
    works = asked(host)
    told = sorted((work.job["shards"]["target"], work.job["probes"]["power"]) for work in works)
    assert told == [("private", 1), ("private", 1), ("public", 10)]
    for work in works:
        work.finish(bpb=1.5)
    drive()
    assert Score.objects.filter(shard="public").count() == 2
    assert HiddenResult.objects.get(shard="public").run.submission_id == first.pk
    first.refresh_from_db()
    assert (first.mean_bpb, second.state) == (2.0, "ranked")


@pytest.mark.parametrize("end", ["ok", "load_failed", "breach", "host_fault", "silence", "fault"])
def test_however_it_ends_nothing_changes_that_others_read(host, end):
    demo = make_competition(advance=1)
    submission = rank(host, demo, 2.0)
    phase = close(submission.phase)
    before = public_tables()
    private.look_at(phase)
    for work in asked(host):
        work.report({"event": "sample", "cpu_seconds": 1.0, "memory_bytes": 1, "processes": 1})
        work.log(0, b"loading\n")
        if end == "silence":
            Attempt.objects.filter(pk=work.attempt).update(lease_until=later(seconds=-1))
        elif end == "fault":
            assert work.fault().status_code == 200
        else:
            assert work.finish(end, detail="strict positions: 9 of 9 differ").status_code == 200
    drive()
    reap()
    assert public_tables() == before
    ours = end in ("host_fault", "silence", "fault")
    assert HiddenResult.objects.count() == (0 if ours else 2)
    assert hidden().count() == (4 if ours else 2)


def test_a_hidden_attempt_that_we_lost_is_made_again_three_times_and_then_after_a_pause(host):
    demo = make_competition(advance=0)
    phase = close(rank(host, demo, 2.0).phase)
    for number in (1, 2, 3):
        reap()
        (work,) = asked(host)
        if number == 2:
            Attempt.objects.filter(state="leased").update(lease_until=later(seconds=-1))
        else:
            work.finish("host_fault")
        drive()
        reap()
    assert list(take("hw.cpu")) == []
    assert list(hidden().values_list("number", "state")) == [(1, "finished"), (2, "lost"), (3, "finished")]
    private.look_at(phase, later(minutes=61))
    (work,) = asked(host)
    work.finish(bpb=1.75)
    drive()
    assert Score.objects.get(shard="private").bpb == pytest.approx(1.75)


def test_a_result_whose_message_was_lost_is_kept_by_the_next_round(host):
    phase = close(rank(host, make_competition(advance=0), 2.0).phase)
    private.look_at(phase)
    (work,) = asked(host)
    work.finish(bpb=1.75)
    list(take("platform"))
    reap()
    reap()
    assert Score.objects.filter(shard="private").count() == 1


def test_what_is_still_on_its_way_is_waited_for(host):
    demo = make_competition(advance=0)
    rank(host, demo, 2.0)
    late = queue(send(make_user(), demo))
    phase = close(late.phase)
    private.look_at(phase)
    assert not hidden().exists()
    host.run(bpb=1.9)
    private.look_at(phase)
    assert hidden().count() == 2


def test_the_next_version_is_scored_when_a_team_withdraws_the_one_it_stood_with(host):
    demo, ada = make_competition(advance=0), make_user()
    lesser = rank(host, demo, 2.5, user=ada)
    best = rank(host, demo, 2.0, user=ada, script=SCRIPT + "# second\n")
    phase = close(best.phase)
    private.look_at(phase)
    withdraw(user=ada, submission=best)
    reap()
    states = dict(hidden().values_list("run__submission", "state"))
    assert states == {best.pk: "cancelled", lesser.pk: "waiting"}


def test_a_host_hears_that_nobody_waits_for_a_hidden_attempt_any_more(host):
    ada = make_user()
    submission = rank(host, make_competition(advance=0), 2.0, user=ada)
    private.look_at(close(submission.phase))
    (work,) = asked(host)
    assert work.report().json() == {"cancel": False}
    withdraw(user=ada, submission=submission)
    assert work.report().json() == {"cancel": True}
    work.finish("cancelled")
    drive()
    assert not HiddenResult.objects.exists()


def test_a_hidden_attempt_is_not_claimed_once_the_phase_is_open_again(host):
    submission = rank(host, make_competition(advance=0), 2.0)
    private.look_at(close(submission.phase))
    type(submission.phase).objects.update(closes=later(days=1))
    assert host.claim(hidden().get().pk).json()["code"] == "not_claimable"


def test_the_commitments_come_in_one_entry_at_a_full_hour_and_say_nothing_of_a_score(host):
    demo = make_competition(advance=0)
    good, bad = rank(host, demo, 2.0), rank(host, demo, 2.5)
    phase = close(good.phase)
    private.look_at(phase)
    first, second = asked(host)
    first.finish(bpb=1.75)
    drive()
    an_hour_passes()
    reap()
    assert not Entry.objects.filter(kind="private.committed").exists()
    second.finish("load_failed")
    drive()
    reap()
    assert not Entry.objects.filter(kind="private.committed").exists()
    an_hour_passes()
    reap()
    reap()
    entry = Entry.objects.get(kind="private.committed")
    rows = list(HiddenResult.objects.order_by("run"))
    assert entry.subject == f"phase:{phase.pk}"
    assert all(row.commitment in entry.data and row.salt not in entry.data for row in rows)
    assert {len(bytes.fromhex(row.salt)) for row in rows} == {32}
    opened = openings([good.pk, bad.pk])
    assert [commitment_of(value) for value in opened] == [row.commitment for row in rows]
    assert [(value["code"], value["bpb"]) for value in opened] == [("ok", 1.75), ("load_failed", None)]


def test_a_later_change_is_committed_to_by_an_entry_of_its_own(host):
    demo, ada = make_competition(advance=0), make_user()
    lesser = rank(host, demo, 2.5, user=ada)
    best = rank(host, demo, 2.0, user=ada, script=SCRIPT + "# second\n")
    phase = close(best.phase)
    score_hidden(host, {best.pk: 1.75}, phase)
    an_hour_passes()
    reap()
    withdraw(user=ada, submission=best)
    score_hidden(host, {lesser.pk: 2.25}, phase)
    an_hour_passes()
    reap()
    first, second = Entry.objects.filter(kind="private.committed").order_by("seq")
    of = {row.run.submission_id: row.commitment for row in HiddenResult.objects.select_related("run")}
    assert of[best.pk] in first.data
    assert of[lesser.pk] in second.data
    assert of[best.pk] not in second.data


def test_the_baseline_goes_first_and_makes_the_private_shards_reference(host):
    from hashlib import sha256

    baseline = SCRIPT + "# the phase's own\n"
    demo = make_competition(advance=0, probes={"baseline_sha256": sha256(baseline.encode()).hexdigest()})
    ada = make_user()
    own = rank(host, demo, 2.5, user=ada, script=baseline)
    rank(host, demo, 2.0, user=ada)
    other = rank(host, demo, 1.9)
    phase = close(own.phase)
    private.look_at(phase)
    (work,) = asked(host)
    assert work.job["probes"]["make_reference"]
    assert work.job["script_sha256"] == own.script_sha256
    work.finish()
    drive()
    assert Reference.objects.get(shard="private").sha256 == REFERENCE
    private.look_at(phase)
    works = asked(host)
    assert {work.job["probes"]["reference_sha256"] for work in works} == {REFERENCE}
    assert other.script_sha256 in {work.job["script_sha256"] for work in works}


def test_the_private_shards_reference_is_the_baselines_under_the_phases_own_launch(host):
    from hashlib import sha256

    baseline = SCRIPT + "# the phase's own\n"
    demo = make_competition(advance=0, probes={"baseline_sha256": sha256(baseline.encode()).hexdigest()})
    odd = queue(send(make_user(), demo, baseline, launch="torchrun --nproc_per_node=2 train.py"))
    host.run()
    own = rank(host, demo, 2.5, script=baseline)
    phase = close(own.phase)
    private.look_at(phase)
    (work,) = asked(host)
    assert Attempt.objects.get(pk=work.attempt).run.submission_id == own.pk != odd.pk
    assert work.job["probes"]["make_reference"]


def test_a_round_reads_no_receipt_of_what_is_settled_or_was_followed(host, django_assert_num_queries):
    demo = make_competition(advance=0)
    bad, good = rank(host, demo, 2.0), rank(host, demo, 2.5)
    phase = close(good.phase)
    for _ in range(2):
        private.look_at(phase)
        for work in asked(host):
            mine = Attempt.objects.get(pk=work.attempt).run.submission_id == bad.pk
            work.finish("host_fault" if mine else "ok")
        drive()
    assert hidden().filter(state="finished").count() == 3
    with django_assert_num_queries(1) as asked_for:
        private.settle_ended(phase)
    assert "receipt" not in str(asked_for.captured_queries)


def test_a_result_that_comes_after_the_release_moves_nothing(host):
    submission = rank(host, make_competition(advance=0), 2.0)
    phase = close(submission.phase)
    private.look_at(phase)
    (work,) = asked(host)
    Phase.objects.filter(pk=phase.pk).update(released_at=later())
    work.finish(bpb=1.5)
    drive()
    assert not HiddenResult.objects.exists()
    assert not Score.objects.filter(shard="private").exists()
