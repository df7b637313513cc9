"""The public API as a stranger, a competitor and a browser meet it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.accounts.models import ApiToken
from leaderboard.submissions.models import Submission
from reviewer import Policy
from tests.leaderboard.cast import (
    KNOBS,
    PASSWORD,
    SCRIPT,
    later,
    make_competition,
    make_phase,
    make_user,
    token,
)
from tests.leaderboard.host import Host, drive, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


def bearer(user):
    return {"Authorization": f"Bearer {token(user)}"}


def upload(client, demo, user=None, script=SCRIPT, **fields):
    data = {
        "competition": demo.slug,
        "phase": "open",
        "script": SimpleUploadedFile("train.py", script.encode()),
        **fields,
    }
    return client.post("/api/v1/submissions", data=data, headers=bearer(user) if user else {})


def error(answer):
    body = answer.json()
    assert set(body) >= {"code", "message"}
    assert body["message"].endswith((".", "train.py"))
    assert answer["Content-Type"].startswith("application/json")
    return answer.status_code, body["code"]


def test_an_upload_answers_with_the_submission(client):
    demo, ada = make_competition(), make_user("ada")
    answer = upload(client, demo, ada, note="small steps")
    body = answer.json()
    assert answer.status_code == 201
    assert (body["version"], body["team"], body["competition"], body["phase"]) == (1, "ada", "demo", "open")
    assert (body["state"], body["reason"], body["report"], body["runs"], body["standing"]) == (
        "received",
        None,
        None,
        [],
        None,
    )
    assert body["launch"] == "python train.py"
    assert (body["quota"]["used"], body["quota"]["limit"], body["quota"]["next_slot"]) == (1, 20, None)
    assert client.get(f"/api/v1/submissions/{body['id']}", headers=bearer(ada)).json() == body


def test_the_audits_findings_are_there_before_anything_is_spent(client):
    demo, ada = make_competition(), make_user()
    number = upload(client, demo, ada, script=KNOBS).json()["id"]
    drive()
    body = client.get(f"/api/v1/submissions/{number}", headers=bearer(ada)).json()
    assert (body["state"], body["reason"]["code"], body["report"]["verdict"]) == ("rejected", "K101", "reject")
    assert body["report"]["findings"][0]["rule"] == "K101"
    assert body["quota"]["used"] == 0


def test_a_form_that_is_none_is_told_so(client):
    bare = client.post("/api/v1/submissions", b"x", content_type="multipart/form-data", headers=bearer(make_user()))
    assert error(bare) == (400, "bad_request")
    many = client.post("/api/v1/submissions", {f"f{n}": "x" for n in range(1500)}, headers=bearer(make_user()))
    assert error(many) == (400, "bad_request")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"competition": "nope"}, (404, "unknown_phase")),
        ({"phase": "nope"}, (404, "unknown_phase")),
        ({"phase": "soon"}, (409, "phase_upcoming")),
        ({"phase": "past"}, (409, "phase_closed")),
        ({"launch": "bash train.py"}, (400, "bad_launch")),
        ({"note": "x" * 300}, (400, "bad_note")),
        ({"script": SimpleUploadedFile("train.py", b"#" * 300_000)}, (413, "too_large")),
        ({"script": "not a file"}, (400, "bad_request")),
    ],
)
def test_each_bad_upload_has_its_code_and_one_sentence(client, fields, expected):
    demo = make_competition()
    make_phase(demo, "soon", opens=later(days=1))
    make_phase(demo, "past", opens=later(days=-2), closes=later(days=-1))
    data = {"competition": "demo", "phase": "open", "script": SimpleUploadedFile("train.py", b"x"), **fields}
    assert error(client.post("/api/v1/submissions", data=data, headers=bearer(make_user()))) == expected
    assert not Submission.objects.exists()


def test_duplicates_and_a_full_quota_say_what_is_there_and_when(client):
    demo, ada = make_competition(quota={"submissions": 1}), make_user()
    first = upload(client, demo, ada).json()
    again = upload(client, demo, ada)
    assert error(again) == (409, "duplicate")
    assert again.json()["submission"] == first["id"]
    full = upload(client, demo, ada, script="# other")
    assert error(full) == (429, "quota")
    assert (full.json()["used"], full.json()["limit"], full.json()["next_slot"] > "20") == (1, 1, True)


def test_without_a_good_token_nobody_uploads(client):
    demo, ada = make_competition(), make_user()
    assert error(upload(client, demo)) == (401, "not_authenticated")
    for header in ("Bearer nonsense", "Bearer ", "Basic abc", "nonsense"):
        answer = client.post("/api/v1/submissions", headers={"Authorization": header})
        assert error(answer) == (401, "not_authenticated")
    text = token(ada)
    ApiToken.objects.update(expires=later(days=-1))
    expired = client.get("/api/v1/me", headers={"Authorization": f"Bearer {text}"})
    assert error(expired) == (401, "token_expired")


def test_a_browsers_session_changes_things_only_with_its_csrf_token():
    demo, ada = make_competition(), make_user()
    browser = Client(enforce_csrf_checks=True)
    assert browser.login(username=ada.username, password=PASSWORD)
    assert browser.get("/api/v1/me").json()["user"] == ada.username
    assert error(upload(browser, demo)) == (403, "csrf")
    browser.cookies["csrftoken"] = "a" * 32
    data = {"competition": "demo", "phase": "open", "script": SimpleUploadedFile("train.py", SCRIPT.encode())}
    assert browser.post("/api/v1/submissions", data=data, headers={"X-CSRFToken": "a" * 32}).status_code == 201


def test_competitions_and_policy_are_open_and_the_policy_is_one_the_reviewer_reads(client):
    make_phase(make_competition(), "final", opens=later(days=8), closes=later(days=9))
    (competition,) = client.get("/api/v1/competitions").json()
    assert [(phase["slug"], phase["state"]) for phase in competition["phases"]] == [
        ("open", "open"),
        ("final", "upcoming"),
    ]
    assert competition["phases"][0]["launch_default"] == "python train.py"
    assert competition["phases"][0]["budget_seconds"] == 2
    policy = client.get("/api/v1/competitions/demo/policy").json()["policy"]
    assert Policy.from_mapping(policy).severity("K101") == "reject"
    assert error(client.get("/api/v1/competitions/nope/policy")) == (404, "not_found")


def test_a_submission_is_not_there_for_strangers_until_it_is_ranked_and_then_only_its_row(client):
    demo, ada, bob = make_competition(), make_user(), make_user()
    submission = queue(send(ada, demo))
    path = f"/api/v1/submissions/{submission.pk}"
    for headers in ({}, bearer(bob)):
        for what in ("", "/events", "/log"):
            assert error(client.get(path + what, headers=headers)) == (404, "not_found")
    assert error(client.post(path + "/withdraw", headers=bearer(bob))) == (404, "not_found")
    Host.register().run(bpb=2.0)
    body = client.get(path).json()
    assert (body["standing"]["rank"], body["standing"]["bpb"]) == (1, 2.0)
    assert [body[key] for key in ("report", "script_sha256", "launch", "quota", "reason", "runs")] == [None] * 5 + [[]]
    assert error(client.get(path + "/events")) == (404, "not_found")
    assert error(client.get(path + "/log")) == (404, "not_found")


def test_events_follow_on_from_the_last_one_seen_and_the_log_from_where_it_ended(client):
    demo, ada = make_competition(), make_user()
    submission, headers = queue(send(ada, demo)), bearer(ada)
    work = Host.register().claim_next()
    work.report({"event": "step", "step": 7, "charged": 0.5})
    work.log(0, b"step:7 loss 3.2\n")
    path = f"/api/v1/submissions/{submission.pk}"
    body = client.get(path + "/events", headers=headers).json()
    assert (body["state"], body["events"][0]["state"], body["events"][0]["kind"]) == ("running", "received", "state")
    assert {"run": 0, "step": 7, "charged_seconds": 0.5, "kind": "progress"}.items() <= body["events"][-1].items()
    last = body["events"][-1]["id"]
    assert client.get(f"{path}/events?after={last}", headers=headers).json() == {"events": [], "state": "running"}
    log = client.get(f"{path}/log?offset=7", headers=headers).json()
    assert (log["text"], log["next"], log["final"]) == ("loss 3.2\n", 16, False)
    run = client.get(path, headers=headers).json()["runs"][0]
    assert (run["state"], run["step"], run["charged_seconds"], run["budget_seconds"]) == ("running", 7, 0.5, 2)


@pytest.mark.parametrize("verb", ["withdraw", "cancel"])
def test_a_team_takes_back_through_the_api(client, verb):
    demo, ada = make_competition(), make_user()
    number = upload(client, demo, ada).json()["id"]
    answer = client.post(f"/api/v1/submissions/{number}/{verb}", headers=bearer(ada))
    assert (answer.status_code, answer.json()["state"], answer.json()["quota"]["used"]) == (200, "withdrawn", 0)


def test_what_is_ranked_can_be_withdrawn_and_not_cancelled(client):
    ada = make_user()
    submission = queue(send(ada, make_competition()))
    Host.register().run()
    path = f"/api/v1/submissions/{submission.pk}"
    assert error(client.post(f"{path}/cancel", headers=bearer(ada))) == (409, "already_over")
    assert client.get(path).json()["state"] == "ranked"
    assert error(client.post(f"{path}/cancel", headers=bearer(make_user("bob")))) == (404, "not_found")
    assert client.post(f"{path}/withdraw", headers=bearer(ada)).json()["state"] == "withdrawn"


@pytest.mark.parametrize(
    "path", ["nowhere", "submissions/abc", "agents", "competitions/a/phases/b/standings", "submissions/9999"]
)
def test_an_address_that_is_not_there_answers_in_the_same_shape(client, path):
    assert error(client.get(f"/api/v1/{path}"))[0] == 404


def test_a_parameter_that_does_not_fit_is_one_sentence(client):
    demo, ada = make_competition(), make_user()
    number = upload(client, demo, ada).json()["id"]
    answer = client.get(f"/api/v1/submissions/{number}/events?after=soon", headers=bearer(ada))
    assert error(answer) == (400, "bad_request")
    assert answer.json()["message"].startswith("after: ")


def test_a_fault_of_ours_is_noted_and_says_nothing_of_itself(client, caplog):
    demo = make_competition()
    phase = demo.phases.get()
    phase.spec = {"secret": "of the operator"}
    phase.save()
    answer = client.get("/api/v1/competitions")
    assert error(answer) == (500, "internal")
    assert "operator" not in answer.json()["message"]
    assert "/api/v1/competitions failed" in caplog.text


def test_no_get_changes_anything(client):
    from leaderboard.ledger.models import Entry

    ada = make_user()
    submission = queue(send(ada, make_competition()))
    before = Entry.objects.count(), list(Submission.objects.values())
    headers = bearer(ada)
    for path in ("me", "competitions", f"submissions/{submission.pk}", f"submissions/{submission.pk}/events"):
        assert client.get(f"/api/v1/{path}", headers=headers).status_code == 200
    assert client.get(f"/api/v1/submissions/{submission.pk}/withdraw", headers=headers).status_code in (404, 405)
    assert (Entry.objects.count(), list(Submission.objects.values())) == before


@pytest.mark.parametrize("question", ["", "/events", "/log", "/cancel"])
def test_whoever_follows_by_asking_has_the_script_left_where_it_is(client, question):
    ada = make_user()
    submission, headers = queue(send(ada, make_competition())), bearer(ada)
    path = f"/api/v1/submissions/{submission.pk}{question}"
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(path, headers=headers) if question == "/cancel" else client.get(path, headers=headers)
    assert answer.status_code == 200
    assert not any('"script",' in query["sql"] for query in asked)
