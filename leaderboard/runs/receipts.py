"""Receipts as the platform takes them: signed by the registered key, about what was asked, with numbers that agree.

A receipt that fails here is refused and nothing is stored; the lease then runs out and the run is repeated.
"""

import math
from typing import Any

from leaderboard.core.errors import Refusal
from leaderboard.runs.facts import bad, count, number, seconds, sha256
from leaderboard.runs.models import Attempt
from leaderboard.runs.probes import BREACH, check_probes, check_published, check_reference
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
                sha256(body["checkpoint_sha256"])
        elif code in (outcomes.OK, BREACH):
            _check_scoring(attempt, body, code)
    except (KeyError, TypeError, AttributeError) as error:
        raise bad(f"a field is missing or of another kind ({error})") from error


def use_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a training receipt says of steps and seconds, as fields of a Run."""
    return {
        "step": count(body["steps"]["count"]),
        "charged_seconds": seconds(body["clock"]["charged"]),
        "startup_seconds": seconds(body["clock"]["startup"]),
    }


def _check_echo(job: dict[str, Any], body: dict[str, Any]) -> None:
    for key in ECHOED:
        if body[key] != job[key]:
            raise bad(f"{key} is not what was asked")
    for key, value in job["shards"].items():
        if body["shards"][key] != value:
            raise bad(f"shards.{key} is not what was asked")
    if job["kind"] == Attempt.Kind.TRAIN and body["clock"]["budget"] != job["clock"]["budget_seconds"]:
        raise bad("the budget is not what was asked")
    if job["kind"] == Attempt.Kind.SCORE and body["checkpoint_sha256"] != job["checkpoint_sha256"]:
        raise bad("the checkpoint is not the sealed one")
    level = body["isolation"]["level"]
    if level not in LEVELS or LEVELS.index(level) < LEVELS.index(job["isolation"]):
        raise bad("the isolation is weaker than the phase asks")


def _check_exit(body: dict[str, Any]) -> str:
    code, detail = body["exit"]["code"], body["exit"]["detail"]
    if code not in outcomes.OUTCOMES:
        raise bad("the exit code is not a known one")
    if not isinstance(detail, str) or len(detail) > 8000:
        raise bad("the exit detail is not a short text")
    return str(code)


def _check_scoring(attempt: Attempt, body: dict[str, Any], code: str) -> None:
    """Check score, probes and reference; a job from before there were probes has none of them to answer for."""
    asked = attempt.job.get("probes")
    if code == outcomes.OK:
        shards = attempt.run.submission.phase.competition.shards
        _check_score(body["score"], expected_bytes=shards.manifest[attempt.shard]["bytes"])
        if asked:
            check_published(body["score"])
            check_reference(asked, attempt.shard, body.get("reference"))
    elif body["score"] is not None:
        raise bad("a model that broke the contract has no score")
    if asked:
        check_probes(asked, body["probes"], breach=code == BREACH)


def _check_score(score: dict[str, Any], *, expected_bytes: int) -> None:
    """bpb = total_nats / (ln 2 · num_bytes), over exactly the bytes of the shard."""
    nats, size, bpb = number(score["total_nats"]), count(score["num_bytes"]), number(score["bpb"])
    count(score["num_tokens"])
    if size != expected_bytes or size <= 0:
        raise bad("the bytes are not those of the shard")
    if not math.isclose(bpb, nats / (math.log(2) * size), rel_tol=TOLERANCE, abs_tol=0):
        raise bad("nats, bytes and bits per byte do not agree")
