"""Decisions by API: the same service, its refusals as the API says them, and who may read the reason."""

import json

import pytest
from django.test import Client

from leaderboard.submissions import transitions
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import make_competition, make_user, token
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


def ask(user, submission, body):
    data = body if isinstance(body, str) else json.dumps(body)
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    client = Client(raise_request_exception=False)
    address = f"/api/v1/submissions/{submission.pk}/decision"
    return client.post(address, data=data, content_type="application/json", headers=headers)


def in_review():
    submission = send(make_user(), make_competition())
    transitions.start_audit(submission)
    transitions.ask_organizer(submission, code="K102", reason="K102 cli-flag, line 3")
    return submission


def test_an_organizer_decides_and_a_second_hears_who_was_first(olga):
    submission = in_review()
    assert ask(olga, submission, {"action": "accept"}).json()["state"] == "accepted"
    late = ask(make_user("otto", organizer=True), submission, {"action": "reject", "reason": "No."})
    assert (late.status_code, late.json()["code"]) == (409, "decided")
    assert late.json()["message"].startswith("olga has accepted it on")


def test_a_disqualified_one_tells_its_reason_to_team_and_organizers_only(olga):
    submission = queue(send(make_user(), make_competition()))
    Host.register().run()
    answer = ask(olga, submission, {"action": "disqualify", "reason": "It peeked.", "seen": 0})
    assert answer.json()["reason"] == {"code": "disqualified", "message": "Disqualified by an organizer: It peeked."}
    client, address = Client(), f"/api/v1/submissions/{submission.pk}"
    own = client.get(address, headers={"Authorization": f"Bearer {token(submission.author)}"}).json()
    assert (own["state"], own["reason"]) == ("disqualified", answer.json()["reason"])
    for part in ("", "/events"):
        assert client.get(address + part).status_code == 404
    assert client.get("/api/v1/competitions/demo/phases/open/standings").json()["rows"] == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"action": "reject"}, 400, "reason_missing"),
        ({"action": "reject", "reason": "two\u202elines"}, 400, "bad_reason"),
        ({"action": "reject", "reason": "x" * 501}, 400, "bad_reason"),
        ({"action": "delete", "reason": "x"}, 400, "unknown_action"),
        ({"action": "rerun", "reason": "x"}, 409, "wrong_state"),
        ({"action": 7}, 400, "bad_request"),
        ({"action": "accept", "extra": 1}, 400, "bad_request"),
        ({"action": "accept", "seen": -1}, 400, "bad_request"),
        ({}, 400, "bad_request"),
        ("[" * 100_000, 400, "bad_json"),
        ("", 400, "bad_json"),
        ('{"action": "reject", "reason": "\\ud800"}', 400, "bad_reason"),
    ],
)
def test_what_is_wrong_gets_one_sentence_and_changes_nothing(olga, body, status, code):
    submission = in_review()
    answer = ask(olga, submission, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert Submission.objects.get().state == "in_review"


def test_others_may_not(olga):
    submission, elsewhere = in_review(), make_user()
    make_competition().organizers.add(elsewhere)
    accept = {"action": "accept"}
    assert ask(None, submission, accept).status_code == 401
    assert ask(elsewhere, submission, accept).status_code == 404
    own = ask(submission.author, submission, accept)
    assert (own.status_code, own.json()["code"]) == (403, "not_organizer")
    assert Submission.objects.get().state == "in_review"
