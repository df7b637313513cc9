"""What an attempt used of its device, second by second: from its receipt when it is over, from its progress before.

The platform checks a receipt's signature and what decides a standing; its series is only drawn. So whatever is not a
row of four finite numbers is passed over here, and a series without end is cut.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from leaderboard.runs.models import Attempt
from leaderboard.runs.queries import samples
from leaderboard.web.charts import Chart, line
from leaderboard.web.wording import percent, size

POINTS = 500  # a receipt has at most 240
SHORTEST = 0.2  # seconds between looks; what lies closer makes no rate
Sample = tuple[float, float, float, float]  # seconds, CPU seconds, bytes, processes


@dataclass(frozen=True)
class Device:
    """Charts of one attempt, the numbers behind them, and, while it goes on, its last look in words."""

    name: str
    charts: list[Chart]
    rows: list[
        tuple[float, float, float | None, float, float]
    ]  # a sample, with the share of the lease after CPU seconds
    now: str


def of_live(attempt: Attempt) -> Device | None:
    """Draw a training attempt without a receipt, as far as it was heard of; None before its first look."""
    return draw(attempt, samples(attempt))


def of_receipt(attempt: Attempt, body: dict[str, Any]) -> Device | None:
    """Draw the series of a receipt; None where it has none."""
    resources = body.get("resources")
    series = resources.get("series") if isinstance(resources, dict) else None
    return draw(attempt, _plain(series if isinstance(series, list) else []))


def draw(attempt: Attempt, series: Iterable[Sample]) -> Device | None:
    """Draw CPU use against the lease, memory against its cap, and processes."""
    found = list(series)
    if not found:
        return None
    limits = attempt.job.get("limits", {})
    threads, memory = limits.get("threads") or 1, limits.get("memory_bytes")
    shares = [(None, 0.0), *_shares(found, threads)]
    # Not named by the attempt's id, which counts hidden attempts too.
    name, cpus = f"d{attempt.run.index}-{attempt.number}", f"of {threads} leased CPU{'s' if threads > 1 else ''}"
    drawn = [
        line(f"{name}-cpu", f"CPU use, share {cpus}", [(at, s) for at, s in shares if at is not None], percent),
        line(f"{name}-memory", "Memory", [(s[0], s[2]) for s in found], size, limit=memory, limit_word="cap"),
        line(f"{name}-processes", "Processes", [(s[0], s[3]) for s in found], "{:.0f}".format),
    ]
    rows = [
        (*sample[:2], share if at is not None else None, *sample[2:])
        for sample, (at, share) in zip(found, shares, strict=True)
    ]
    last = rows[-1]
    use = f"CPU {percent(last[2])} {cpus} · " if last[2] is not None else ""
    now = f"Now: {use}memory {size(last[3])} of {size(memory)} · {_count(last[4])}"
    goes_on = attempt.state == Attempt.State.LEASED
    return Device(name, [chart for chart in drawn if chart], rows, now if goes_on else "")


def _shares(found: list[Sample], threads: int) -> Iterable[tuple[float | None, float]]:
    """Yield (seconds, share of the lease used since the look before); None where the looks are too close."""
    for (before, used_before, *_), (at, used, *_) in pairwise(found):
        if at - before < SHORTEST:
            yield None, 0.0
        else:
            yield at, max(used - used_before, 0.0) / (at - before) / threads


def _plain(series: list[Any]) -> Iterable[Sample]:
    last = -math.inf
    for row in series[:POINTS]:
        if isinstance(row, list) and len(row) == 4 and all(_is_number(value) for value in row) and row[0] >= last:
            last = row[0]
            yield row[0], row[1], row[2], row[3]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15


def _count(value: float) -> str:
    return f"{value:.0f} process" + ("" if round(value) == 1 else "es")
