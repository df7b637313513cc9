"""The board: who stands where, with what interval, and the same numbers wherever they are shown."""

import csv
import io
import json

import pytest
from django.db import connection
from django.test import Client
from scipy.stats import t

from leaderboard.standings.queries import board, digits_of, rounded, row_of, submission_json
from leaderboard.standings.sheets import COLUMNS, cell, csv_of
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import make_competition, make_phase, make_user
from tests.leaderboard.host import Host, drive, queue, send
from tests.leaderboard.standings.entries import people, ranked

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return make_competition(runs=1).phases.get()


def test_a_team_stands_with_its_best_version_and_all_its_tries_are_counted(phase):
    ada, bob = people(2)
    ranked(phase, ada, 2.5)
    best = ranked(phase, ada, 2.1, note="wider")
    ranked(phase, ada, 2.2)
    send(ada, phase.competition)
    other = ranked(phase, bob, 2.3)
    rows = board(phase).rows
    assert [(row.rank, row.submission, row.version, row.bpb) for row in rows] == [
        (1, best.pk, 2, 2.1),
        (2, other.pk, 1, 2.3),
    ]
    assert (rows[0].team, rows[0].note, rows[0].tried, rows[1].tried) == ("person-0", "wider", 4, 1)


def test_order_is_by_the_exact_mean_then_fewer_bytes_then_earlier(phase):
    ada, bob, cleo, dan = people(4)
    long = ranked(phase, ada, 2.0001, script="# a longer script")
    early = ranked(phase, bob, 2.0001)
    late = ranked(phase, cleo, 2.0001)
    best = ranked(phase, dan, 2.00009, script="# the longest script of all")
    rows = board(phase).rows
    assert [row.submission for row in rows] == [best.pk, early.pk, late.pk, long.pk]
    assert {row.bpb for row in rows} == {2.0}


def test_only_ranked_ones_of_this_phase_stand(phase):
    ada, bob = people(2)
    ranked(phase, ada, 2.0)
    withdrawn = ranked(phase, bob, 1.0)
    Submission.objects.filter(pk=withdrawn.pk).update(state="withdrawn")
    other = make_phase(phase.competition, "final")
    ranked(other, ada, 1.0)
    assert [row.bpb for row in board(phase).rows] == [2.0]


def test_compute_used_stands_beside_compute_granted():
    phase = make_competition(runs=3).phases.get()
    ranked(phase, make_user(), 1.0, 2.0, 3.0)
    row = board(phase).rows[0]
    assert (row.compute_used_seconds, row.compute_granted_seconds) == (4.5, 6.0)


@pytest.mark.django_db(transaction=True)
def test_what_we_had_to_repeat_is_not_the_teams_compute():
    demo, host = make_competition(runs=1), Host.register()
    submission = queue(send(make_user(), demo))
    lost = host.claim_next()
    lost.report({"event": "step", "step": 7, "charged": 1.25})
    lost.finish("contention", clock={"budget": 2.0, "charged": 1.75, "startup": 0.25})
    drive()
    host.run()
    (row,) = board(submission.phase).rows
    assert submission.runs.get().attempts.filter(kind="train").count() == 2
    assert (row.compute_used_seconds, row.compute_granted_seconds) == (1.5, 2.0)


def test_it_is_one_query_however_many_rows(phase, django_assert_num_queries):
    for user in people(5):
        ranked(phase, user, 2.0)
    fresh = type(phase).objects.select_related("competition").get(pk=phase.pk)
    with django_assert_num_queries(1):
        assert len(board(fresh).rows) == 5


def test_several_runs_have_their_own_interval_rounded_outward():
    phase = make_competition(runs=3).phases.get()
    ranked(phase, make_user(), 1.999, 2.001, 2.003)
    row = board(phase).rows[0]
    half = t.ppf(0.975, 2) * 0.002 / 3**0.5
    assert row.n == 3
    assert not row.ci_pooled
    assert (row.ci_low, row.ci_high) == (1.996, 2.006)
    assert row.ci_high - row.bpb >= half > row.ci_high - row.bpb - 0.001


@pytest.mark.parametrize("mean", [2.00049, 2.00051, 2.0007, 2.0])
def test_the_ends_of_an_interval_are_never_inside_of_it_however_the_mean_is_rounded(mean):
    phase = make_competition(runs=3).phases.get()
    ranked(phase, make_user(), mean - 0.002, mean, mean + 0.002)
    row = board(phase).rows[0]
    half = t.ppf(0.975, 2) * 0.002 / 3**0.5
    assert row.ci_low <= mean - half < row.ci_low + 0.001
    assert row.ci_high >= mean + half > row.ci_high - 0.001


def test_one_run_borrows_the_phases_pooled_spread_with_its_degrees_of_freedom():
    phase = make_competition(runs=3).phases.get()
    ada, bob, cleo = people(3)
    ranked(phase, ada, 2.000, 2.010, 2.020)
    ranked(phase, ada, 2.100, 2.110)  # not the team's best, and still part of the pool
    ranked(phase, bob, 2.200, 2.240)
    one = ranked(phase, cleo, 2.0)
    row, _ = row_of(one)
    pooled = ((2 * 0.01**2 + 0.00005 + 0.0008) / 4) ** 0.5
    assert (row.ci_pooled, row.ci_df) == (True, 4)
    assert row.ci_high - row.bpb == pytest.approx(t.ppf(0.975, 4) * pooled, abs=0.001)


def test_a_lesser_version_has_its_own_numbers_under_its_teams_rank():
    phase = make_competition(runs=1).phases.get()
    ada, bob = people(2)
    ranked(phase, ada, 2.0)
    best, lesser = ranked(phase, bob, 2.1), ranked(phase, bob, 2.3)
    assert [row_of(one)[1] for one in (best, lesser)] == [True, False]
    assert [(row_of(one)[0].rank, row_of(one)[0].bpb) for one in (best, lesser)] == [(2, 2.1), (2, 2.3)]


@pytest.mark.parametrize("values", [(2.0,), (2.0, 2.0)], ids=["no degrees of freedom", "no spread"])
def test_without_a_spread_the_interval_is_not_known_yet(phase, values):
    ranked(phase, make_user(), *values)
    row = board(phase).rows[0]
    assert (row.ci_low, row.ci_high, row.ci_df) == (None, None, None)


@pytest.mark.parametrize(
    ("value", "step", "shown"),
    [
        (2.03449, 0.001, 2.034),
        (2.0345, 0.001, 2.034),
        (0.95949, 0.0005, 0.9595),
        (2.03, 0.25, 2.0),
        (0.1 + 0.2, 0.1, 0.3),
    ],
)
def test_numbers_are_multiples_of_the_phases_step(value, step, shown):
    assert rounded(value, step) == shown


def test_digits_follow_the_step():
    assert [digits_of(step) for step in (0.001, 0.0005, 0.25, 1.0, 1e-6)] == [3, 4, 2, 0, 6]


def test_no_exact_number_leaves_the_board(phase):
    for user, value in zip(people(3), (2.0312345, 2.0467891, 2.0598765), strict=True):
        ranked(phase, user, value, value + 0.0012345, value + 0.0054321)
    shown = json.dumps(board(phase).to_json()) + csv_of(board(phase))
    for row in Submission.objects.all():
        for exact in (row.mean_bpb, row.sd_bpb):
            assert f"{exact:.5f}" not in shown


def test_json_csv_and_submission_agree_to_the_last_digit():
    phase = make_competition(runs=2, rounding=0.0005).phases.get()
    users = people(3)
    sent = [ranked(phase, user, 2.03 + n / 70, 2.04 + n / 50) for n, user in enumerate(users)]
    client, base = Client(), f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.slug}/standings"
    rows = client.get(base).json()["rows"]
    sheet = list(csv.DictReader(io.StringIO(client.get(base + ".csv").content.decode())))
    assert len(rows) == len(sheet) == 3
    for row, line in zip(rows, sheet, strict=True):
        assert set(row) == set(COLUMNS) == set(line)
        for column in COLUMNS:
            assert line[column] == cell(row[column])
            assert row[column] is None or isinstance(row[column], str) or json.loads(line[column]) == row[column]
    for submission, user in zip(sent, users, strict=True):
        standing = submission_json(user, submission)["standing"]
        assert {key: standing[key] for key in COLUMNS} == next(
            row for row in rows if row["submission"] == submission.pk
        )


def test_a_version_that_does_not_stand_says_so_beside_its_own_numbers(phase):
    ada = make_user()
    lesser = ranked(phase, ada, 2.5)
    ranked(phase, ada, 2.1)
    standing = submission_json(ada, lesser)["standing"]
    assert (standing["bpb"], standing["rank"], standing["stands"]) == (2.5, 1, False)


def test_a_single_version_has_the_rank_and_the_numbers_that_the_whole_board_gives_it():
    phase = make_competition(runs=2).phases.get()
    users = people(4)
    equal = ranked(phase, users[0], 2.0, 2.2, script="# a longer script")
    values = ((1, 2.0, 2.2), (2, 2.0, 2.2), (3, 1.9, 2.0), (1, 2.3, 2.4), (0, 3.0, 3.1))
    others = [ranked(phase, users[user], first, second) for user, first, second in values]
    rows = {row.submission: row for row in board(phase).rows}
    assert [row.rank for row in rows.values()] == [1, 2, 3, 4]
    for submission in (equal, *others[:3]):
        assert row_of(submission) == (rows[submission.pk], True)
    for lesser, best in ((others[3], others[0]), (others[4], equal)):
        row, stands = row_of(lesser)
        assert (row.rank, stands, row.submission) == (rows[best.pk].rank, False, lesser.pk)
        assert row.ci_df == rows[best.pk].ci_df
    Submission.objects.filter(pk=equal.pk).update(state="withdrawn")
    assert row_of(equal) is None


def test_a_single_versions_row_does_not_read_the_others(phase, django_assert_num_queries):
    sent = [ranked(phase, user, 2.0) for user in people(5)]
    with django_assert_num_queries(5) as asked:
        row_of(Submission.objects.select_related("phase").get(pk=sent[2].pk))
    assert "ROW_NUMBER" not in str(asked.captured_queries)


def test_a_version_that_is_withdrawn_while_its_row_is_read_has_none(phase):
    submission, asked = ranked(phase, make_user(), 2.0), []

    def withdraw_after_the_first(execute, *query):
        answer = execute(*query)
        if not asked and "source_bytes" in query[0]:
            asked.append(True)
            Submission.objects.filter(pk=submission.pk).update(state="withdrawn")
        return answer

    with connection.execute_wrapper(withdraw_after_the_first):
        assert row_of(submission) is None
    assert asked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("  =1", "'  =1"),
        ("\t=1", "'\t=1"),
        ("|cmd", "'|cmd"),
        ("plain - text", "plain - text"),
    ],
)
def test_no_cell_of_people_is_a_formula(text, shown):
    assert cell(text) == shown


def test_numbers_stay_numbers_in_the_sheet():
    assert [cell(value) for value in (-1.5, 2.0, 3, None, True)] == ["-1.5", "2.0", "3", "", "true"]
