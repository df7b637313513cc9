"""What the probes say together: a table for the receipt, a correction, and whether the contract was broken.

A question breaches when any of its positions lies beyond the tolerance. The run fails when more than 0.1 % of the
strict positions asked, or of the positions compared in repeats, breach; or when strict losses differ from scored ones
on average, beyond chance (p < 1e-6), however small each difference is.

A row's last target begins the next row, and a model that remembers what it was asked may have seen it. No strict
question asks there, and one place in a long row is less than 0.1 % of it, so the ends of repeated rows are counted by
themselves: the run fails when more than 1 % of them breach, and more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scoring.scorer.correction import correction, mean_p
from scoring.scorer.draw import Draw
from scoring.scorer.probe import Seen

SHARE, SHARE_OF_ENDS, SURELY = 0.001, 0.01, 1e-6
MOST_EVIDENCE = 100


@dataclass(frozen=True)
class Verdict:
    """The probe table without its settings and times; correction and error in bits per byte."""

    strict: dict[str, Any]
    repeat: dict[str, Any]
    ends: int  # repeated rows whose last position breaches
    mean_p: float | None
    tolerance: float
    evidence: list[dict[str, Any]]
    correction: float
    correction_se: float

    @property
    def breaches(self) -> list[str]:
        """Name kind and rough count of what breached, nothing else: this is what a team reads."""
        strict, repeat = self.strict, self.repeat
        found = []
        if strict["breached"] > SHARE * strict["asked"]:
            found.append(f"strict positions: {_roughly(strict['breached'], strict['asked'])} differ")
        elif self.mean_p is not None and self.mean_p < SURELY:
            found.append(f"strict positions: {strict['asked']} differ on average")
        if repeat["breached"] > SHARE * repeat["compared"]:
            found.append(f"repeats: {_roughly(repeat['breached'], repeat['compared'])} positions differ")
        elif self.ends > max(1, SHARE_OF_ENDS * repeat["asked"]):
            found.append(f"repeats: {_roughly(self.ends, repeat['asked'])} rows end otherwise")
        return found


def judge(seen: Sequence[Seen], draws: Sequence[Draw], num_bytes: int) -> Verdict:
    """Add up what became of all questions."""
    strict = [one for one in seen if one.question.draw is not None]
    repeats = [one for one in seen if one.question.draw is None]
    asked = [draws[one.question.draw] for one in strict if one.question.draw is not None]
    differences = [one.difference for one in strict]
    gained, error = correction(asked, differences, num_bytes)
    worst = sorted((one for one in seen if one.beyond), key=lambda one: -one.worst)
    return Verdict(
        strict=_tally(strict, sum(one.beyond > 0 for one in strict)),
        repeat=_tally(repeats, sum(one.beyond for one in repeats)),
        ends=sum(one.end_beyond for one in repeats),
        mean_p=mean_p(differences),
        tolerance=max((one.tolerance for one in seen), default=0.0),
        evidence=[_evidence(one) for one in worst[:MOST_EVIDENCE]],
        correction=gained,
        correction_se=error,
    )


def _roughly(breached: int, asked: int) -> str:
    """Say how many without saying how many exactly: a model chooses the number beside sealed text, for its team."""
    return f"all {asked}" if breached == asked else f"at least {1 << breached.bit_length() - 1} of {asked}"


def _tally(seen: Sequence[Seen], breached: int) -> dict[str, Any]:
    return {
        "asked": len(seen),
        "breached": breached,
        "compared": sum(one.compared for one in seen),
        "largest": max((one.worst for one in seen), default=0.0),
    }


def _evidence(one: Seen) -> dict[str, Any]:
    kind = "repeat" if one.question.draw is None else "strict"
    return {"kind": kind, "row": one.question.row, "position": one.position, "difference": one.worst}
