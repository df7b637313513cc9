"""Receipts over the API: whole and verifiable for whom they are open, and nothing that is not yet to be known."""

import pytest
from django.test import Client

from leaderboard.competitions.models import Phase
from leaderboard.runs.models import Attempt, Receipt
from scoring import receipt as receipts
from tests.leaderboard.cast import later, make_competition, make_user, token
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)
EXACT = 2.0344912345


def ranked(**phase):
    ada = make_user("ada")
    submission = queue(send(ada, make_competition(**phase)))
    Host.register().run(bpb=EXACT)
    return ada, submission


def read(submission, user=None):
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    return Client().get(f"/api/v1/submissions/{submission.pk}/receipts", headers=headers)


def release(submission):
    Phase.objects.filter(pk=submission.phase_id).update(released_at=later(seconds=-1))


def test_a_team_reads_the_receipt_of_its_training_and_can_check_it():
    ada, submission = ranked()
    train, score = read(submission, ada).json()["receipts"]
    assert (train["run"], train["attempt"], train["kind"], score["kind"], score["shard"]) == (
        0,
        1,
        "train",
        "score",
        "public",
    )
    receipts.verify(train["body"], train["signature"], train["public_key"])
    assert train["body"]["script_sha256"] == submission.script_sha256


def test_before_the_release_a_team_reads_no_exact_score():
    ada, submission = ranked()
    answer = read(submission, ada)
    score = answer.json()["receipts"][1]
    assert score["body"] is None
    assert score["sha256"] == Receipt.objects.get(attempt__kind="score").sha256
    assert "2.0344" not in answer.content.decode()
    release(submission)
    score = read(submission, ada).json()["receipts"][1]
    assert score["body"]["score"]["bpb"] == pytest.approx(EXACT, rel=1e-12)
    receipts.verify(score["body"], score["signature"], score["public_key"])


def test_an_organizer_reads_all_of_them():
    _, submission = ranked()
    organizer = make_user("olga", organizer=True)
    assert all(row["body"] for row in read(submission, organizer).json()["receipts"])


@pytest.mark.parametrize(
    ("visibility", "status", "bodies"),
    [({}, 200, True), ({"seeds": "never"}, 200, False), ({"receipts": "never"}, 404, False)],
)
def test_others_read_them_after_the_release_as_far_as_the_phase_says(visibility, status, bodies):
    _, submission = ranked(visibility=visibility)
    for stranger in (None, make_user("bob")):
        assert read(submission, stranger).status_code == 404
    release(submission)
    for stranger in (None, make_user("cleo")):
        answer = read(submission, stranger)
        assert answer.status_code == status
        rows = answer.json().get("receipts", [])
        assert [bool(row["body"]) for row in rows] == [bodies] * len(rows)


def test_of_the_private_shard_there_is_nothing_before_the_release():
    _, submission = ranked()
    olga = make_user("olga", organizer=True)
    Attempt.objects.filter(kind="score").update(shard="private", hidden=True)
    assert [row["kind"] for row in read(submission, olga).json()["receipts"]] == ["train"]
    release(submission)
    assert [row["shard"] for row in read(submission, olga).json()["receipts"]] == [None, "private"]
