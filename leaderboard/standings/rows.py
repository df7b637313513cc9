"""The rows of a board: what a team's standing says, rounded to the phase's step, interval and spread with it.

An exact number would carry more than a score.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from leaderboard.competitions.models import Phase
from leaderboard.standings.intervals import Pool, interval_of

EVENLY, BY_REFERENCE = "evenly", "by reference"


@dataclass(frozen=True)
class Row:
    """A team's standing. Bits per byte and seconds; `tried` counts the versions its team sent in.

    `ledger` is the sequence number of the entry that ranked it. `probe_power` is None where no probes were asked;
    `probes_drawn` says whether strict positions were drawn evenly or by the reference's losses. On the private board
    `public_rank` and `shift` (places won, negative: lost) stand beside the rank, and `outcome` says why there is none.
    """

    rank: int | None
    team: str
    submission: int
    version: int
    bpb: float | None
    n: int
    ci_low: float | None
    ci_high: float | None
    ci_pooled: bool
    ci_df: int | None
    sd: float | None
    compute_used_seconds: float | None
    compute_granted_seconds: float
    probe_power: int | None
    probes_drawn: str
    note: str
    when: datetime
    tried: int
    ledger: int | None
    public_rank: int | None = None
    shift: int | None = None
    outcome: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "when": self.when.isoformat()}


@dataclass(frozen=True)
class Board:
    """A phase's rows in order, as of a moment; `digits` is how many decimals its rounding step shows.

    `left` counts the versions of a released private board that were disqualified since; the others keep their ranks.
    """

    competition: str
    phase: str
    shard: str
    as_of: datetime
    released_at: datetime | None
    rounding: float
    digits: int
    advance: int
    rows: list[Row]
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "as_of": self.as_of.isoformat(),
            "released_at": self.released_at.isoformat() if self.released_at else None,
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True)
class Figures:
    """Mean and interval of an entry as they are shown."""

    bpb: float
    ci_low: float | None
    ci_high: float | None
    ci_pooled: bool
    ci_df: int | None
    sd: float | None


def figures(*, mean: float, sd: float | None, n: int, pool: Pool, step: float) -> Figures:
    """Return mean and interval of n scores in steps of `step`, the interval's ends rounded outward."""
    interval = interval_of(n=n, sd=sd, pool=pool)
    half = interval.half if interval and math.isfinite(interval.half) else None
    return Figures(
        bpb=rounded(mean, step),
        ci_low=None if half is None else rounded(mean - half, step, ROUND_FLOOR),
        ci_high=None if half is None else rounded(mean + half, step, ROUND_CEILING),
        ci_pooled=bool(interval and interval.pooled),
        ci_df=interval.df if interval else None,
        sd=None if sd is None else rounded(sd, step, ROUND_CEILING),
    )


def row_from(rank: int, entry: Mapping[str, Any], phase: Phase, pool: Pool) -> Row:
    """Return the row of a ranked version from what the database says of it."""
    rules = phase.rules
    return Row(
        rank=rank,
        team=entry["team__name"],
        submission=entry["pk"],
        version=entry["version"],
        n=entry["n_scores"],
        compute_used_seconds=None if entry["used"] is None else round(entry["used"], 2),
        compute_granted_seconds=rules.budget.seconds * rules.runs,
        probe_power=entry["power"],
        probes_drawn="" if entry["power"] is None else EVENLY if entry["evenly"] else BY_REFERENCE,
        note=entry["note"],
        when=entry["ranked_at"],
        tried=entry["tried"],
        ledger=entry["ledger"],
        **vars(
            figures(mean=entry["mean_bpb"], sd=entry["sd_bpb"], n=entry["n_scores"], pool=pool, step=rules.rounding)
        ),
    )


def pool_from(sums: Mapping[str, Any]) -> Pool:
    """Return the pooled spread from a phase's sums."""
    return Pool(sums["pool_squares"] or 0.0, int(sums["pool_df"] or 0))


def digits_of(step: float) -> int:
    """Return how many decimals a rounding step shows: 3 for 0.001."""
    exponent = Decimal(repr(step)).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def rounded(value: float, step: float, how: str = ROUND_HALF_EVEN) -> float:
    """Return `value` as a multiple of `step`: the nearest one, or by another of decimal's ways to round."""
    unit = Decimal(repr(step))
    whole = (Decimal(repr(value)) / unit).to_integral_value(how)
    return float(whole * unit)
