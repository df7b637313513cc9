"""What a scoring receipt says of its probes, and of the score that is published because of them.

    published_bpb = bpb + max(0, correction + 1.64 · correction_se)        all in bits per byte

So noise costs its maker, and looking ahead gains nothing on average.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from leaderboard.runs.facts import bad, count, number, sha256
from scoring.bpb import SIGMAS

KINDS = ("strict", "repeat")
BREACH = "breach"  # outcome code of a model whose answers to probes differ
ASKED = ("power", "strict_per_row", "repeats", "reference_sha256")
MOST_EVIDENCE = 100
TOLERANCE = 1e-12  # relative; the scorer's sum and ours are of the same float64 numbers


def published(bpb: float, correction: float | None, se: float | None) -> float:
    """Return the bits per byte that follow from a score, its correction and standard error, in range or not."""
    if correction is None or se is None:
        return bpb
    return bpb + max(0.0, correction + SIGMAS * se)


def check_published(score: Mapping[str, Any]) -> None:
    """Raise Refusal bad_receipt unless the published score follows from score, correction and standard error."""
    correction, se = score["correction"], score["correction_se"]
    if (correction is None) != (se is None):
        raise bad("correction and standard error come together")
    if correction is not None and (number(se) < 0 or not math.isfinite(number(correction))):
        raise bad("a standard error is negative")
    if not math.isclose(
        number(score["published_bpb"]), published(score["bpb"], correction, se), rel_tol=TOLERANCE, abs_tol=0
    ):
        raise bad("the published score does not follow from score and correction")


def check_probes(asked: Mapping[str, Any], told: Mapping[str, Any], *, breach: bool) -> None:
    """Raise Refusal bad_receipt unless the probe table is about what was asked and its counts are possible."""
    for key in ASKED:
        if told[key] != asked[key]:
            raise bad(f"probes.{key} is not what was asked")
    wanted = {"strict": asked["strict_per_row"] > 0, "repeat": asked["repeats"] > 0}
    for kind in KINDS:
        _check_counts(told[kind], must_ask=wanted[kind] and not breach)
    for key in ("tolerance", "seconds", "cost"):
        if number(told[key]) < 0:
            raise bad(f"probes.{key} is negative")
    if told["mean_p"] is not None and not 0 <= number(told["mean_p"]) <= 1:
        raise bad("probes.mean_p is no probability")
    evidence = told["evidence"]
    if not isinstance(evidence, list) or len(evidence) > MOST_EVIDENCE:
        raise bad(f"probes.evidence is no list of at most {MOST_EVIDENCE}")
    for item in evidence:
        if item["kind"] not in KINDS:
            raise bad("probes.evidence names a kind that does not exist")
        for key, read in _PLACE.items():
            if item[key] is not None:
                read(item[key])


def check_reference(asked: Mapping[str, Any], target: str, told: Mapping[str, Any] | None) -> None:
    """Raise Refusal bad_receipt unless a reference is there exactly where one was to be made, for this shard."""
    if not asked["make_reference"]:
        if told is not None:
            raise bad("nobody asked for a reference")
        return
    if told is None or told["target"] != target:
        raise bad("the reference is missing, or of another shard")
    sha256(told["sha256"])


_PLACE: dict[str, Callable[[Any], object]] = {"row": count, "position": count, "difference": number}


def _check_counts(told: Mapping[str, Any], *, must_ask: bool) -> None:
    asked, breached = count(told["asked"]), count(told["breached"])
    count(told["compared"])
    if told["largest"] is not None and number(told["largest"]) < 0:
        raise bad("a largest difference is negative")
    if breached > max(asked, told["compared"]):
        raise bad("more probes differ than were asked")
    if must_ask and not asked:
        raise bad("probes were to be asked, and none was")
