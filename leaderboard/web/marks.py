"""Small drawings in a board's cells: an interval on the axis that all rows share, and compute used of compute granted.

Each stands beside the same thing in words, so readers of text miss nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString

from leaderboard.standings.queries import Row

WIDTH, HEIGHT, EDGE = 160, 16, 6


@dataclass(frozen=True)
class Axis:
    """From the best interval's low end to the worst one's high end, the same down the table."""

    low: float
    high: float

    def x(self, bpb: float) -> str:
        share = (bpb - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return f"{EDGE + (WIDTH - 2 * EDGE) * share:.1f}"


def axis_of(rows: Iterable[Row]) -> Axis | None:
    """Return the axis that holds every row's interval; None where there is nothing to compare."""
    ends = [end for row in rows for end in (row.ci_low, row.bpb, row.ci_high) if end is not None]
    return Axis(min(ends), max(ends)) if len(ends) > 1 else None


def interval(row: Row, axis: Axis) -> SafeString | str:
    """Draw a row's mean and interval."""
    if row.bpb is None:
        return ""
    whole = row.ci_low is not None and row.ci_high is not None
    low, high = (axis.x(row.ci_low or 0), axis.x(row.ci_high or 0)) if whole else (axis.x(row.bpb),) * 2
    return format_html(
        '<svg class="interval" viewBox="0 0 {} {}" aria-hidden="true">'
        '<path d="M{} 8H{}"/><circle cx="{}" cy="8" r="3.5"/></svg>',
        WIDTH,
        HEIGHT,
        low,
        high,
        axis.x(row.bpb),
    )


def bar(used: float | None, granted: float) -> SafeString | str:
    """Draw seconds used as a part of seconds granted."""
    if used is None or granted <= 0:
        return ""
    return format_html(
        '<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="granted" width="100" height="4"/><rect class="used" width="{}" height="4"/></svg>',
        f"{100 * min(max(used / granted, 0.0), 1.0):.1f}",
    )
