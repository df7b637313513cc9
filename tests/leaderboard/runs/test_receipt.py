"""A receipt counts when the registered key signed it, it is about what was asked, and its numbers agree."""

import json

import pytest

from leaderboard.runs.models import Attempt, Receipt
from scoring import receipt as receipts
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, drive, queue, score, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def training():
    queue(send(make_user(), make_competition()))
    return Host.register().claim_next()


@pytest.fixture
def scoring(training):
    training.finish()
    drive()
    host = Host.register()
    return host.claim_next()


def test_a_good_receipt_is_stored_with_its_hash_and_can_be_verified_again(training):
    receipt = training.receipt()
    assert training.hand_in(receipt).status_code == 200
    stored = Receipt.objects.get()
    receipts.verify(stored.body, stored.signature, stored.attempt.public_key)
    assert stored.body == receipt


def test_a_receipt_of_another_key_is_refused(training):
    answer = training.finish(key=receipts.new_key())
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")
    assert not Receipt.objects.exists()


def test_a_receipt_changed_after_signing_is_refused(training):
    receipt = training.receipt()
    body = {"receipt": {**receipt, "seed": receipt["seed"] + 1}, "signature": receipts.sign(receipt, training.key)}
    answer = training.call("post", "finish", data=json.dumps(body), content_type="application/json")
    assert answer.json()["code"] == "bad_signature"


@pytest.mark.parametrize(
    "over",
    [
        {"attempt_id": "a999999"},
        {"run_id": "r999999"},
        {"kind": "score"},
        {"script_sha256": "0" * 64},
        {"kit_sha256": "0" * 64},
        {"seed": 7},
        {"launch": {"launcher": "torchrun", "processes": 8, "env": {}, "args": []}},
        {"shards": {"set": "other", "manifest_sha256": "c" * 64, "target": None, "commitment": None}},
        {"shards": {}},
        {"clock": {"budget": 3600.0, "charged": 1.5, "startup": 0.25}},
        {"clock": {"budget": 2.0, "charged": -1.5, "startup": 0.25}},
        {"clock": {"budget": 2.0, "charged": "1.5", "startup": 0.25}},
        {"clock": None},
        {"steps": {"count": True}},
        {"isolation": {"level": "container"}},
        {"checkpoint_sha256": "../../etc"},
        {"checkpoint_sha256": None},
        {"exit": {"code": "fine", "detail": ""}},
        {"exit": {"code": "ok", "detail": ["x"]}},
        {"exit": "ok"},
    ],
    ids=lambda over: str(over)[:50],
)
def test_a_receipt_about_something_else_is_refused_and_nothing_is_kept(training, over):
    answer = training.finish(**over)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_receipt")
    assert not Receipt.objects.exists()
    assert Attempt.objects.get().state == "leased"


@pytest.mark.parametrize(
    "change",
    [
        {"bpb": 1.9999},
        {"bpb": 2.0 * (1 + 1e-11)},
        {"num_bytes": 149_999},
        {"num_bytes": 0},
        {"num_bytes": 150_000.0},
        {"num_tokens": -1},
        {"total_nats": "1"},
        {"total_nats": None},
        {"bpb": True},
    ],
    ids=str,
)
def test_a_score_whose_numbers_do_not_agree_is_refused(scoring, change):
    answer = scoring.finish(score={**score(2.0), **change})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_receipt")


def test_a_score_of_another_checkpoint_is_refused(scoring):
    assert scoring.finish(checkpoint_sha256="8" * 64).json()["code"] == "bad_receipt"


def test_a_score_with_whole_numbers_that_agree_is_taken(scoring):
    assert scoring.finish().status_code == 200


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b'{"receipt": {"x": NaN}, "signature": ""}', "bad_json", 400),
        (b'{"receipt": ' + b"[" * 100 + b"]" * 100 + b"}", "bad_json", 400),
        (b'{"receipt": {}, "signature": "' + b"a" * 2_000_000 + b'"}', "too_large", 413),
        (b"[]", "bad_json", 400),
        (b"\xff", "bad_json", 400),
        (b"{}", "bad_request", 400),
        (b'{"receipt": {}, "signature": "", "more": 1}', "bad_request", 400),
        (b'{"receipt": {"seed": 100000000000000000000}, "signature": ""}', "bad_signature", 400),
    ],
    ids=["nan", "deep", "large", "list", "bytes", "empty", "extra", "huge number"],
)
def test_a_body_that_is_no_receipt_is_refused_before_it_is_looked_at(training, body, code, status):
    answer = training.call("post", "finish", data=body, content_type="application/json")
    assert (answer.json()["code"], answer.status_code) == (code, status)
