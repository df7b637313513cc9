"""The private board: the versions that stand on the public one, by scores that are sealed until the release."""

import csv
import io

import pytest
from django.test import Client

from leaderboard.standings.private import board_of
from leaderboard.standings.queries import board, submission_json
from leaderboard.standings.sheets import COLUMNS
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import SCRIPT, make_competition, make_user, token
from tests.leaderboard.hidden import asked, close, rank, released, score_hidden
from tests.leaderboard.host import Host, drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def three():
    """Three teams whose private scores turn the public order round, the last one's second version apart."""
    host, demo, cleo = Host.register(), make_competition(advance=0), make_user("cleo")
    best, middle = rank(host, demo, 2.0), rank(host, demo, 2.25)
    last = rank(host, demo, 2.5, user=cleo)
    rank(host, demo, 2.75, user=cleo, script=SCRIPT + "# second\n")
    phase = close(best.phase)
    score_hidden(host, {best.pk: 3.0, middle.pk: 2.5, last.pk: 1.0}, phase)
    return phase, best, middle, last


def path(phase, ending=""):
    return f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.slug}/standings{ending}?shard=private"


def get(phase, user=None, ending=""):
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    return Client().get(path(phase, ending), headers=headers)


def test_it_ranks_the_same_versions_by_what_they_scored_unseen(three):
    phase, best, middle, last = three
    rows = board(released(phase), "private").rows
    told = [(row.rank, row.submission, row.bpb, row.public_rank, row.shift) for row in rows]
    assert told == [(1, last.pk, 1.0, 3, 2), (2, middle.pk, 2.5, 2, 0), (3, best.pk, 3.0, 1, -2)]


@pytest.mark.parametrize("ending", ["", ".csv"])
def test_before_the_release_it_is_for_organizers_alone(three, ending):
    phase, best, *_ = three
    own = best.author
    other = make_competition()
    olga, boss = make_user("olga"), make_user("boss")
    other.organizers.add(olga)
    phase.competition.organizers.add(boss)
    for somebody in (None, own, olga):
        answer = get(phase, somebody, ending)
        assert (answer.status_code, answer.json()["code"]) == (404, "sealed")
    assert get(phase, boss, ending).status_code == 200
    assert get(released(phase), None, ending).status_code == 200


def test_the_page_of_the_board_seals_it_alike(three):
    phase, *_ = three
    address = f"/competitions/{phase.competition.slug}/phases/{phase.slug}/?shard=private"
    assert Client().get(address).status_code == 404
    released(phase)
    assert Client().get(address).status_code == 200


def test_a_shard_that_is_no_board_is_not_there(three):
    phase, *_ = three
    answer = Client().get(path(phase).replace("private", "dev"))
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_shard")


def test_json_and_csv_agree(three):
    phase, *_ = three
    body = get(released(phase)).json()
    sheet = list(csv.DictReader(io.StringIO(get(phase, ending=".csv").content.decode())))
    assert body["shard"] == "private"
    assert [list(line) for line in sheet] == [list(COLUMNS)] * 3
    assert [int(line["submission"]) for line in sheet] == [row["submission"] for row in body["rows"]]


def test_a_submission_tells_its_private_standing_after_the_release_only(three):
    phase, best, *_ = three
    ada = best.author
    assert submission_json(ada, best)["private"] is None
    best.phase = released(phase)
    told = submission_json(ada, best)["private"]
    assert (told["rank"], told["bpb"], told["public_rank"]) == (3, 3.0, 1)


def test_what_failed_there_stands_below_without_a_rank():
    host, demo = Host.register(), make_competition(advance=0)
    good, bad = rank(host, demo, 2.5), rank(host, demo, 2.0)
    phase = close(good.phase)
    from leaderboard.pipeline import private

    private.look_at(phase)
    for work in asked(host):
        scored = work.job["run_id"] == f"r{good.runs.get().pk:06d}"
        work.finish("ok" if scored else "model_crashed")
    drive()
    first, second = board(released(phase), "private").rows
    assert (first.submission, first.rank, first.shift) == (good.pk, 1, 1)
    assert (second.submission, second.rank, second.bpb) == (bad.pk, None, None)
    assert second.outcome == "failed on the private shard"


def test_several_runs_have_their_mean_and_their_own_spread_on_the_private_shard():
    host, demo = Host.register(), make_competition(advance=0, runs=2)
    from leaderboard.pipeline import private
    from tests.leaderboard.host import queue, send

    submission = queue(send(make_user(), demo))
    for works in ([host.claim_next() for _ in range(2)], None):
        for work in works or [host.claim_next() for _ in range(2)]:
            work.finish(bpb=2.0)
        drive()
    phase = close(submission.phase)
    private.look_at(phase)
    for work, bpb in zip(asked(host), (1.0, 1.5), strict=True):
        work.finish(bpb=bpb)
    drive()
    (row,) = board(released(phase), "private").rows
    assert (row.n, row.bpb, row.sd) == (2, 1.25, 0.354)


def test_a_version_that_is_withdrawn_while_the_board_is_read_is_no_fault(three):
    phase, best, middle, last = three
    public = board(phase)
    Submission.objects.filter(pk=best.pk).update(state="withdrawn")
    assert [row.submission for row in board_of(phase, public).rows] == [last.pk, middle.pk, best.pk]
