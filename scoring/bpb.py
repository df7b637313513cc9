"""Bits per byte, the number that boards rank, and the cut of a shard into rows.

    bpb = total_nats / (ln 2 · total_bytes)            lower is better

Standard library only: the platform recomputes a published number from nats and bytes without torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LARGEST_BPB = 64.0
SIGMAS = 1.64  # 95 % one-sided


class BadMetric(ValueError):
    """A total that cannot be a score: not finite, not positive, or beyond 64 bits per byte."""


@dataclass(frozen=True, slots=True)
class Score:
    """Totals of one run on one shard: nats and bytes over the scored tokens, rows asked, wall seconds."""

    total_nats: float
    num_bytes: int
    num_tokens: int
    rows: int
    seconds: float

    @property
    def bpb(self) -> float:
        return bits_per_byte(self.total_nats, self.num_bytes)

    def to_json(self) -> dict[str, float | int]:
        return {
            "total_nats": self.total_nats,
            "num_bytes": self.num_bytes,
            "num_tokens": self.num_tokens,
            "bpb": self.bpb,
            "rows": self.rows,
            "seconds": self.seconds,
        }


def bits_per_byte(total_nats: float, num_bytes: int) -> float:
    """Turn nats over bytes into bits per byte.

    Raises BadMetric unless both totals are finite and positive and 0 < bpb <= 64.
    """
    if isinstance(num_bytes, bool) or not isinstance(num_bytes, int) or num_bytes <= 0:
        raise BadMetric(f"bytes must be a positive whole number, not {num_bytes!r}")
    if not math.isfinite(total_nats) or total_nats <= 0:
        raise BadMetric(f"nats must be finite and positive, not {total_nats!r}")
    value = total_nats / (math.log(2) * num_bytes)
    if not 0 < value <= LARGEST_BPB:
        raise BadMetric(f"{value!r} bits per byte is outside (0, {LARGEST_BPB:g}]")
    return value


def published(bpb: float, correction: float, standard_error: float) -> float:
    """Add to a score what probes say that looking ahead gained, and 1.64 standard errors of it; never less than scored.

    All in bits per byte. So noise costs its maker, and looking ahead gains nothing on average.
    Raises BadMetric when what comes out is no score.
    """
    added = correction + SIGMAS * standard_error
    value = bpb + (added if not added <= 0 else 0.0)  # so that NaN stays NaN, and is refused
    if not 0 < value <= LARGEST_BPB:
        raise BadMetric(f"{value!r} bits per byte is outside (0, {LARGEST_BPB:g}]")
    return value


def total_nats(rows: Iterable[float]) -> float:
    """Add the nats of rows without rounding error (math.fsum), whatever their order."""
    return math.fsum(rows)


def row_count(tokens: int, seq_len: int) -> int:
    """Count the rows of a stream of `tokens` tokens: every token after the first is a target of exactly one row."""
    if seq_len < 1:
        raise ValueError("a row has at least one position")
    return max(0, -(-(tokens - 1) // seq_len))


def row_bounds(row: int, tokens: int, seq_len: int) -> tuple[int, int]:
    """Give [start, stop) of a row's inputs; its targets are the same range moved by one. Only the last row is short."""
    start = row * seq_len
    stop = min(start + seq_len, tokens - 1)
    if not 0 <= start < stop:
        raise IndexError(f"row {row} is not in a stream of {tokens} tokens")
    return start, stop
