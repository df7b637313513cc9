"""One line over time as SVG, made on the server: drawn with classes, so that the page's style and theme apply.

The vertical axis runs from the smallest to the largest value there is, never from a zero that is not in the data, and
the caption says where it starts. A limit is drawn where the data come near it and said where they do not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 400, 150
LEFT, RIGHT, TOP, BOTTOM = 76, 396, 32, 124  # of the plot; values stand left of it, times below
NEAR = 2.0  # a limit up to so many times the largest value is drawn
Point = tuple[float, float]  # (seconds, value)


@dataclass(frozen=True)
class Chart:
    """A drawing and the sentence below it."""

    svg: SafeString
    caption: str


def line(
    name: str,
    title: str,
    points: Sequence[Point],
    say: Callable[[float], str],
    *,
    limit: float | None = None,
    limit_word: str = "limit",
) -> Chart | None:
    """Draw `points` in order of time; None where there is nothing to draw.

    `name` is unique on the page, `say` puts a value into words, `limit` is a value that must not be exceeded.
    """
    if not points:
        return None
    values = [value for _, value in points]
    low, high, last = min(values), max(values), values[-1]
    drawn = limit is not None and low < limit <= high * NEAR
    top = max(high, limit) if drawn and limit is not None else high
    scale = _Scale(points[0][0], points[-1][0], low, top)
    said = f"Between {say(low)} and {say(high)}, {say(last)} at the end."
    if limit is not None:
        said += f" The {limit_word} is {say(limit)}" + ("." if drawn else ", outside the chart.")
    start = f"The axis starts at {say(low)}."
    svg = format_html(
        '<svg class="line" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-t {}-d">'
        '<title id="{}-t">{}</title><desc id="{}-d">{}</desc>{}{}{}{}</svg>',
        WIDTH,
        HEIGHT,
        name,
        name,
        name,
        title,
        name,
        f"From {points[0][0]:.0f} s to {points[-1][0]:.0f} s. {said} {start}",
        _frame(title, scale, say),
        _rule(scale.y(limit), limit_word) if drawn and limit is not None else "",
        _stroke([(scale.x(at), scale.y(value)) for at, value in points]),
        _label(scale.y(last), say(last)),
    )
    return Chart(svg, f"{said} {start}")


@dataclass(frozen=True)
class _Scale:
    """From seconds and values to places in the drawing."""

    start: float
    end: float
    low: float
    high: float

    def x(self, at: float) -> float:
        return LEFT + (RIGHT - LEFT) * _share(at, self.start, self.end)

    def y(self, value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * _share(value, self.low, self.high)


def _share(value: float, low: float, high: float) -> float:
    """Return where a value lies between two others; in the middle where those are one."""
    return (value - low) / (high - low) if high > low else 0.5


def _frame(title: str, scale: _Scale, say: Callable[[float], str]) -> SafeString:
    texts = [
        ("name", 0, 14, "start", title),
        ("tick", LEFT - 8, TOP + 4, "end", say(scale.high) if scale.high > scale.low else ""),
        ("tick", LEFT - 8, BOTTOM + 4, "end", say(scale.low) if scale.high > scale.low else ""),
        ("tick", LEFT, HEIGHT - 6, "start", f"{scale.start:.0f} s"),
        ("tick", RIGHT, HEIGHT - 6, "end", f"{scale.end:.0f} s"),
    ]
    return format_html(
        '<path class="axis" d="M{0} {1}H{2}M{0} {3}H{2}"/>{4}',
        LEFT,
        TOP,
        RIGHT,
        BOTTOM,
        format_html_join("", '<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>', texts),
    )


def _rule(y: float, word: str) -> SafeString:
    return format_html(
        '<path class="limit" d="M{0} {1}H{2}"/><text class="limit" x="{0}" y="{3}">{4}</text>',
        LEFT,
        f"{y:.1f}",
        RIGHT,
        f"{y + 14:.1f}",
        word,
    )


def _stroke(places: list[Point]) -> SafeString:
    if len(places) == 1:
        x, y = places[0]
        return format_html('<circle class="data" cx="{}" cy="{}" r="3"/>', f"{x:.1f}", f"{y:.1f}")
    return format_html('<polyline class="data" points="{}"/>', " ".join(f"{x:.1f},{y:.1f}" for x, y in places))


def _label(y: float, text: str) -> SafeString:
    """Write the last value at the line's end: above it, below it where it lies at the top."""
    place = y - 7 if y > TOP + 20 else y + 17
    return format_html('<text class="end" x="{}" y="{}" text-anchor="end">{}</text>', RIGHT, f"{place:.1f}", text)
