"""Receipts as the platform takes them: signed by the registered key, about what was asked, with numbers that agree.

A receipt that fails here is refused and nothing is stored; the lease then runs out and the run is repeated.
"""

import math
from typing import Any

from leaderboard.core.errors import Refusal
from leaderboard.runs.models import Attempt
from scoring import outcomes
from scoring import receipt as receipts
from scoring.job import LEVELS

ECHOED = ("kind", "run_id", "attempt_id", "script_sha256", "kit_sha256", "seed", "launch")
TOLERANCE = 1e-12  # relative; the scorer's division and ours are of the same float64 numbers


def check(attempt: Attempt, body: dict[str, Any], signature: str) -> None:
    """Return quietly for a receipt that may be stored. Raises Refusal bad_signature or bad_receipt (400)."""
    try:
        receipts.verify(body, signature, attempt.public_key)
    except receipts.BadSignature as error:
        raise Refusal("bad_signature", "The signature is not of this receipt and the registered key.") from error
    try:
        _check_echo(attempt.job, body)
        code = _check_exit(body)
        if attempt.kind == Attempt.Kind.TRAIN:
            use_of(body)
            if code == outcomes.OK:
                _sha256(body["checkpoint_sha256"])
        elif code == outcomes.OK:
            shards = attempt.run.submission.phase.competition.shards
            _check_score(body["score"], expected_bytes=shards.manifest[attempt.shard]["bytes"])
    except (KeyError, TypeError, AttributeError) as error:
        raise _bad(f"a field is missing or of another kind ({error})") from error


def use_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a training receipt says of steps and seconds, as fields of a Run."""
    return {
        "step": _count(body["steps"]["count"]),
        "charged_seconds": _seconds(body["clock"]["charged"]),
        "startup_seconds": _seconds(body["clock"]["startup"]),
    }


def _check_echo(job: dict[str, Any], body: dict[str, Any]) -> None:
    for key in ECHOED:
        if body[key] != job[key]:
            raise _bad(f"{key} is not what was asked")
    for key, value in job["shards"].items():
        if body["shards"][key] != value:
            raise _bad(f"shards.{key} is not what was asked")
    if job["kind"] == Attempt.Kind.TRAIN and body["clock"]["budget"] != job["clock"]["budget_seconds"]:
        raise _bad("the budget is not what was asked")
    if job["kind"] == Attempt.Kind.SCORE and body["checkpoint_sha256"] != job["checkpoint_sha256"]:
        raise _bad("the checkpoint is not the sealed one")
    level = body["isolation"]["level"]
    if level not in LEVELS or LEVELS.index(level) < LEVELS.index(job["isolation"]):
        raise _bad("the isolation is weaker than the phase asks")


def _check_exit(body: dict[str, Any]) -> str:
    code, detail = body["exit"]["code"], body["exit"]["detail"]
    if code not in outcomes.OUTCOMES:
        raise _bad("the exit code is not a known one")
    if not isinstance(detail, str) or len(detail) > 8000:
        raise _bad("the exit detail is not a short text")
    return str(code)


def _check_score(score: dict[str, Any], *, expected_bytes: int) -> None:
    """bpb = total_nats / (ln 2 · num_bytes), over exactly the bytes of the shard."""
    nats, count, bpb = _number(score["total_nats"]), _count(score["num_bytes"]), _number(score["bpb"])
    _count(score["num_tokens"])
    if count != expected_bytes or count <= 0:
        raise _bad("the bytes are not those of the shard")
    if not math.isclose(bpb, nats / (math.log(2) * count), rel_tol=TOLERANCE, abs_tol=0):
        raise _bad("nats, bytes and bits per byte do not agree")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad("a number is not finite")
    return float(value)


def _seconds(value: Any) -> float:
    seconds = _number(value)
    if not 0 <= seconds < 1e9:
        raise _bad("seconds are out of range")
    return seconds


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise _bad("a count is out of range")
    return value


def _sha256(value: Any) -> None:
    if not isinstance(value, str) or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise _bad("a hash is not a SHA-256 in hex")


def _bad(why: str) -> Refusal:
    return Refusal("bad_receipt", f"This receipt is not accepted: {why}.")
