"""What a token may do of what its person may, and what every token may do to itself."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import Client

from leaderboard.accounts.models import ApiToken, Scope
from leaderboard.accounts.services import issue_token
from leaderboard.api.auth import Caller
from leaderboard.core.errors import Refusal
from tests.leaderboard.cast import PASSWORD, SCRIPT, make_competition, make_team, make_user
from tests.leaderboard.host import send

pytestmark = pytest.mark.django_db(transaction=True)


def bearer(user, scope):
    return {"Authorization": f"Bearer {issue_token(user=user, name='test', scope=scope)[1]}"}


def attempts(user, demo, scope):
    """Return the statuses of reading, sending, cancelling and withdrawing."""
    headers, client = bearer(user, scope), Client()
    earlier = send(user, demo, SCRIPT + f"# {scope}\n")
    data = {
        "competition": demo.slug,
        "phase": "open",
        "script": SimpleUploadedFile("train.py", f"# {scope}".encode()),
    }
    answers = [
        client.get("/api/v1/submissions", headers=headers),
        client.post("/api/v1/submissions", data=data, headers=headers),
        client.post(f"/api/v1/submissions/{earlier.pk}/cancel", headers=headers),
        client.post(f"/api/v1/submissions/{earlier.pk}/withdraw", headers=headers),
    ]
    return [answer.status_code for answer in answers], answers[1].json()


def test_each_scope_reaches_as_far_as_it_says():
    ada, demo = make_user(), make_competition()
    statuses, body = attempts(ada, demo, "read")
    assert (statuses, body["code"]) == ([200, 403, 403, 403], "scope")
    assert attempts(ada, demo, "submit")[0] == attempts(ada, demo, "all")[0] == [200, 201, 200, 200]


def test_what_changes_things_and_names_no_scope_needs_a_token_for_everything():
    request = HttpRequest()
    request.method = "POST"
    request.META["HTTP_AUTHORIZATION"] = bearer(make_user(), "submit")["Authorization"]
    with pytest.raises(Refusal, match="`all`"):
        Caller()(request)
    assert Caller(scope=Scope.SUBMIT)(request)


def test_me_says_what_the_token_is():
    ada, demo = make_user("ada"), make_competition()
    make_team(demo, ada, name="Analysts")
    body = Client().get("/api/v1/me", headers=bearer(ada, "read")).json()
    assert (body["user"], body["teams"]) == ("ada", [{"competition": "demo", "team": "Analysts"}])
    assert (body["token"]["name"], body["token"]["scope"]) == ("test", "read")
    browser = Client()
    browser.login(username="ada", password=PASSWORD)
    assert browser.get("/api/v1/me").json()["token"] is None


@pytest.mark.parametrize("scope", list(Scope))
def test_every_token_can_revoke_itself_and_no_other(scope):
    ada = make_user()
    headers, other = bearer(ada, scope), bearer(ada, "all")
    assert Client().post("/api/v1/me/token/revoke", headers=headers).json() == {"revoked": True}
    assert Client().get("/api/v1/me", headers=headers).status_code == 401
    assert Client().get("/api/v1/me", headers=other).status_code == 200
    assert ApiToken.objects.count() == 1


def test_a_session_has_no_token_to_revoke():
    browser = Client()
    browser.force_login(make_user())
    answer = browser.post("/api/v1/me/token/revoke")
    assert (answer.status_code, answer.json()["code"]) == (400, "no_token")
