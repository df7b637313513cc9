"""After a release its private board stands still and what opened stays open; exact numbers wait for the last phase."""

import json

import pytest
from django.test import Client

from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.ledger.models import Entry
from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Attempt
from leaderboard.standings.queries import board, submission_json
from leaderboard.submissions.models import Submission
from leaderboard.submissions.moderation import moderate, possible
from leaderboard.submissions.services import may_be_withdrawn, withdraw
from tests.leaderboard.cast import SCRIPT, make_competition, make_phase, make_user, token
from tests.leaderboard.hidden import close, rank, released, score_hidden
from tests.leaderboard.host import drive, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scene(host):
    """Three teams, the first with a lesser version behind the one that stands; released."""
    demo, eve = make_competition(advance=0), make_user("eve")
    lesser = rank(host, demo, 2.4, user=eve, script=SCRIPT + "# lesser\n")
    first, second, third = rank(host, demo, 2.0, user=eve), rank(host, demo, 2.1), rank(host, demo, 2.2)
    phase = close(first.phase)
    score_hidden(host, {first.pk: 1.9, second.pk: 1.8, third.pk: 1.7}, phase)
    return released(phase), lesser, first, second, third


def stands(phase):
    rows = board(phase, "private").rows
    return [(row.rank, row.submission, row.bpb, row.public_rank, row.shift) for row in rows]


def get(path, user=None):
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    return Client().get(path, headers=headers)


def refused(code, call, **words):
    with pytest.raises(Refusal) as no:
        call(**words)
    assert (no.value.code, no.value.status) == (code, 409)
    return no.value.message


def fresh(submission):
    return Submission.objects.select_related("phase__competition").get(pk=submission.pk)


def test_a_team_cannot_take_back_what_stood_at_the_release(scene):
    phase, lesser, first, *_ = scene
    before = stands(phase)
    for version in (first, lesser):
        assert "stays on record" in refused("released", withdraw, user=first.author, submission=fresh(version))
        assert not may_be_withdrawn(fresh(version))
    assert stands(phase) == before


def test_a_version_that_is_disqualified_later_leaves_a_gap_and_no_other_of_its_team_takes_its_place(scene, boss):
    phase, lesser, first, second, third = scene
    assert stands(phase) == [(1, third.pk, 1.7, 3, 2), (2, second.pk, 1.8, 2, 0), (3, first.pk, 1.9, 1, -2)]
    moderate(organizer=boss, submission=fresh(second), action="disqualify", reason="a copy")
    moderate(organizer=boss, submission=fresh(first), action="disqualify", reason="a copy")
    reap()
    assert not Attempt.objects.filter(state="waiting").exists()
    shown = board(phase, "private")
    assert [(row.rank, row.submission, row.public_rank, row.shift) for row in shown.rows] == [(1, third.pk, 3, 2)]
    assert (shown.left, shown.to_json()["left"]) == (2, 2)
    assert lesser.pk in [row.submission for row in board(phase).rows]
    page = Client().get("/competitions/demo/phases/open/?shard=private").content.decode()
    assert "2 left after the release" in page
    moderate(organizer=boss, submission=fresh(second), action="reinstate", reason="no copy")
    assert [row.submission for row in board(phase, "private").rows] == [third.pk, second.pk]


def test_its_scripts_and_receipts_stay_open_and_the_organizers_words_are_for_the_team(scene, boss):
    _, _, first, *_ = scene
    moderate(organizer=boss, submission=fresh(first), action="disqualify", reason="a copy of another")
    page = Client().get(f"/submissions/{first.pk}/")
    assert page.status_code == 200
    assert "a copy of another" not in page.content.decode()
    assert Client().get(f"/submissions/{first.pk}/script/").content == SCRIPT.encode()
    assert all(row["body"] for row in get(f"/api/v1/submissions/{first.pk}/receipts").json()["receipts"])
    assert get(f"/api/v1/submissions/{first.pk}/events").status_code == 404


def test_what_was_disqualified_before_the_release_never_opened(host, boss):
    demo = make_competition(advance=0)
    gone, stays = rank(host, demo, 2.0), rank(host, demo, 2.1)
    phase = close(gone.phase)
    moderate(organizer=boss, submission=fresh(gone), action="disqualify", reason="a copy")
    score_hidden(host, {stays.pk: 1.8}, phase)
    released(phase)
    assert Client().get(f"/submissions/{gone.pk}/").status_code == 404


def test_nothing_is_run_any_more_in_a_released_phase(host, boss):
    demo = make_competition(advance=0)
    bad = queue(send(make_user(), demo, SCRIPT + "# bad\n"))
    host.claim_next().finish("crash")
    drive()
    good = rank(host, demo, 2.0)
    assert "rerun" in possible(fresh(bad))
    phase = close(good.phase)
    score_hidden(host, {good.pk: 1.8}, phase)
    phase = released(phase)
    assert "rerun" not in possible(fresh(bad))
    sentence = refused("released", moderate, organizer=boss, submission=fresh(bad), action="rerun", reason="x")
    assert "nothing is run any more" in sentence
    assert [row.submission for row in board(phase).rows] == [good.pk]


def scorings(submission, user=None):
    answer = get(f"/api/v1/submissions/{submission.pk}/receipts", user)
    return [row["body"] for row in answer.json()["receipts"] if row["kind"] == "score"]


def test_receipts_of_scorings_open_with_the_last_phase_on_the_same_shards(host, boss):
    demo = make_competition(advance=0)
    first = rank(host, demo, 2.0)
    final = make_phase(demo, "final")
    phase = close(first.phase)
    score_hidden(host, {first.pk: 1.8123456789}, phase)
    released(phase)
    for who in (None, first.author, make_user("mallory")):
        assert scorings(first, who) == [None, None]
    assert all(scorings(first, boss))
    assert submission_json(first.author, fresh(first))["private"]["bpb"] == 1.812
    openings = json.loads(Entry.objects.get(kind="phase.released").data)["openings"]
    assert [opening["bpb"] for opening in openings] == [1.812]
    released(close(final))
    assert all(scorings(first))


def test_another_competition_on_the_same_shards_keeps_them_closed_too(host):
    demo = make_competition(advance=0)
    make_competition("another")
    first = rank(host, demo, 2.0)
    phase = close(first.phase)
    score_hidden(host, {first.pk: 1.8}, phase)
    released(phase)
    assert scorings(first) == [None, None]
    Phase.objects.filter(competition__slug="another").delete()
    assert all(scorings(first))


def test_an_organizer_who_competes_sees_no_private_score_before_the_release(host, boss):
    demo = make_competition(advance=0)
    own, other = rank(host, demo, 2.0, user=boss), rank(host, demo, 2.1)
    phase = close(own.phase)
    score_hidden(host, {own.pk: 1.8, other.pk: 1.9}, phase)
    path = "/api/v1/competitions/demo/phases/open/standings?shard=private"
    assert (get(path, boss).status_code, get(path, make_user("olga", organizer=True)).status_code) == (404, 200)
    for version in (own, other):
        assert submission_json(boss, fresh(version))["private"] is None
        assert scorings(version, boss) == [None]
    released(phase)
    assert get(path, boss).status_code == 200


def test_no_organizer_decides_on_a_version_of_the_own_team(host, boss):
    own = rank(host, make_competition(), 2.0, user=boss)
    with pytest.raises(Refusal) as no:
        moderate(organizer=boss, submission=fresh(own), action="disqualify", reason="x")
    assert (no.value.code, no.value.status) == ("own_team", 403)
    moderate(organizer=make_user("olga", organizer=True), submission=fresh(own), action="disqualify", reason="x")


@pytest.mark.parametrize(
    "path",
    [
        "/competitions/demo/phases/open/",
        "/api/v1/competitions/demo/phases/open/standings",
        "/api/v1/competitions/demo/phases/open/standings.csv",
    ],
)
def test_nobody_on_the_way_keeps_a_private_board(boss, path):
    make_competition()
    client = Client()
    client.force_login(boss)
    answer = client.get(f"{path}?shard=private")
    assert answer.status_code == 200
    assert {"no-store", "private"} <= set(answer["Cache-Control"].split(", "))
