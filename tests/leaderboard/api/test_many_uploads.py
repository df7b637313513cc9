"""Uploads have a limit of their own: a withdrawn one gives its place back, and is stored and audited all the same."""

import pytest
from django.test import Client

from leaderboard.accounts.models import Allowance
from leaderboard.submissions import services
from leaderboard.submissions.models import Submission
from tests.leaderboard.api.test_idempotency import at_once, post
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user, token
from tests.leaderboard.web.pages import browser, text

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/competitions/demo/phases/open/submit/"


@pytest.fixture
def three(monkeypatch):
    """A site on which a person may upload three times within ten minutes."""
    monkeypatch.setattr(services, "UPLOADS", 3)
    make_competition(quota={"submissions": 1})
    return make_user("eve")


def upload_and_withdraw(key, number):
    sent = post(key, None, SCRIPT + f"# {number}\n")
    if sent.status_code == 201:
        withdrawn = browser(Submission.objects.get(pk=sent.json()["id"]).author)
        withdrawn.post(f"/submissions/{sent.json()['id']}/withdraw/")
    return sent


def test_uploading_and_withdrawing_ends_with_a_time_to_come_back(three):
    key = token(three)
    sent = [upload_and_withdraw(key, number) for number in range(5)]
    assert [each.status_code for each in sent] == [201, 201, 201, 429, 429]
    said = sent[-1].json()
    assert said["code"] == "too_many"
    assert f"wait {said['retry_after']} s" in said["message"]
    assert sent[-1]["Retry-After"] == str(said["retry_after"])
    assert Submission.objects.count() == 3
    Allowance.objects.update(began=later(minutes=-11))
    assert upload_and_withdraw(key, 5).status_code == 201


def test_page_and_program_count_together_and_each_person_alone(three):
    page, script = browser(three), {"launch": "python train.py", "text": SCRIPT}
    for _ in range(2):
        post(token(three), None)
    page.post(ADDRESS, {"launch": "python train.py"})  # nothing was chosen: that is no upload
    assert page.post(ADDRESS, script).status_code == 409
    full = page.post(ADDRESS, script)
    assert full.status_code == 429
    assert "That was tried 3 times within 10 minutes; wait" in text(full)
    assert 0 < int(full["Retry-After"]) <= 601
    assert SCRIPT.splitlines()[0].strip('"') in full.content.decode()  # what was typed is still there
    assert post(token(make_user("bob")), None, SCRIPT + "# bob\n").status_code == 201


def test_an_upload_too_many_is_refused_before_it_is_read(three):
    headers = {"Authorization": f"Bearer {token(three)}"}
    codes = [Client().post("/api/v1/submissions", {"nothing": "fits"}, headers=headers).status_code for _ in range(4)]
    assert codes == [400, 400, 400, 429]


def test_of_many_at_once_no_more_than_the_limit_come_in(three):
    key = token(three)
    codes = at_once(12, lambda number: post(key, None, SCRIPT + f"# {number}\n").json().get("code", "received"))
    assert codes.count("too_many") == 9
    assert Submission.objects.count() == 1
