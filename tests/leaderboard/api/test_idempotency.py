"""An upload with a key arrives once: sent again, sent by several at once, refused first, or changed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from leaderboard.accounts.models import SentOnce
from leaderboard.ledger.models import Entry
from leaderboard.submissions.models import QuotaEntry, Submission
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user, token

pytestmark = pytest.mark.django_db(transaction=True)


def post(text, key, script=SCRIPT, **fields):
    data = {
        "competition": "demo",
        "phase": "open",
        "script": SimpleUploadedFile("train.py", script.encode()),
        **fields,
    }
    headers = {"Authorization": f"Bearer {text}"} | ({} if key is None else {"Idempotency-Key": key})
    return Client(raise_request_exception=False).post("/api/v1/submissions", data=data, headers=headers)


def at_once(count, call):
    """Call from so many threads at the same moment; each has its own connection and closes it."""
    start = Barrier(count)

    def one(number):
        try:
            start.wait()
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_the_same_upload_again_is_the_same_submission():
    make_competition()
    ada = token(make_user("ada"))
    first, again = post(ada, "k 1"), post(ada, "k 1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Submission.objects.count() == QuotaEntry.objects.count() == 1


@pytest.mark.parametrize("changed", [{"script": SCRIPT + "#\n"}, {"note": "x"}, {"launch": "torchrun train.py"}])
def test_another_upload_under_the_same_key_is_refused(changed):
    make_competition()
    ada = token(make_user())
    first = post(ada, "key").json()
    other = post(ada, "key", **changed)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_mismatch")
    assert other.json()["submission"] == first["id"]
    assert Submission.objects.count() == 1


def test_a_boundary_between_fields_is_no_way_around():
    make_competition()
    ada = token(make_user())
    post(ada, "key", launch="python train.py", note="ab")
    assert post(ada, "key", launch="python train.pya", note="b").json()["code"] == "idempotency_mismatch"


def test_a_key_is_of_one_person():
    make_competition()
    answers = [post(token(make_user(name)), "key") for name in ("ada", "bob")]
    assert [answer.status_code for answer in answers] == [201, 201]


def test_a_refused_upload_leaves_its_key_free():
    phase = make_competition().phases.get()
    ada, closes = token(make_user()), phase.closes
    phase.closes = later(seconds=-1)
    phase.save()
    assert post(ada, "key").status_code == 409
    assert not SentOnce.objects.exists()
    phase.closes = closes
    phase.save()
    assert post(ada, "key").status_code == 201


def test_after_a_withdrawal_the_key_still_names_what_it_made():
    make_competition()
    ada = token(make_user())
    number = post(ada, "key").json()["id"]
    Client().post(f"/api/v1/submissions/{number}/withdraw", headers={"Authorization": f"Bearer {ada}"})
    again = post(ada, "key")
    assert (again.status_code, again.json()["id"], again.json()["state"]) == (200, number, "withdrawn")


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "é"])
def test_an_impossible_key_is_refused(key):
    make_competition()
    answer = post(token(make_user()), key)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_idempotency_key")
    assert not Submission.objects.exists()


def test_without_a_key_a_second_upload_is_a_duplicate():
    make_competition()
    ada = token(make_user())
    assert [post(ada, None).status_code for _ in range(2)] == [201, 409]


def test_several_requests_with_one_key_at_once_make_one_submission():
    make_competition()
    ada = token(make_user())
    answers = at_once(8, lambda number: post(ada, "key"))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Submission.objects.count() == QuotaEntry.objects.count() == SentOnce.objects.count() == 1
    assert Entry.objects.filter(kind="submission.received").count() == 1


def test_several_contents_under_one_key_at_once_make_one_submission():
    make_competition()
    ada = token(make_user())
    answers = at_once(6, lambda number: post(ada, "key", script=SCRIPT + f"# {number}\n"))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    assert Submission.objects.count() == 1


def test_when_the_first_of_several_is_refused_the_others_try_for_themselves():
    make_competition(quota={"submissions": 1})
    ada = token(make_user())
    post(ada, "earlier")
    answers = at_once(5, lambda number: post(ada, "key", script=SCRIPT + "# more\n"))
    assert {answer.json()["code"] for answer in answers} == {"quota"}
    assert SentOnce.objects.count() == 1
