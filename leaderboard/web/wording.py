"""How figures, times and states are said, the same on every page.

Plain functions; `templatetags/holdout.py` makes tags and filters of them.
"""

import math
import re
from datetime import UTC, datetime, timedelta

from leaderboard.standings.queries import digits_of, rounded

# state -> (glyph, word, class of its colour); never told apart by colour alone
STATES: dict[str, tuple[str, str, str]] = {
    "received": ("○", "received", ""),
    "auditing": ("◔", "auditing", "live"),
    "rejected": ("✕", "rejected", "bad"),
    "in_review": ("?", "in review", "warn"),
    "accepted": ("✓", "accepted", "good"),
    "queued": ("⋯", "queued", ""),
    "running": ("▶", "running", "live"),
    "scoring": ("◇", "scoring", "live"),
    "ranked": ("●", "ranked", "good"),
    "failed": ("!", "failed", "bad"),
    "errored": ("↻", "errored", "warn"),
    "withdrawn": ("–", "withdrawn", ""),
    "disqualified": ("⊘", "disqualified", "bad"),
    # runs
    "waiting": ("⋯", "waiting", ""),
    "training": ("▶", "training", "live"),
    "sealed": ("◆", "sealed", "sealed"),
    "scored": ("●", "scored", "good"),
    "cancelled": ("–", "cancelled", ""),
    # attempts
    "finished": ("✓", "finished", "good"),
    "lost": ("↻", "lost", "warn"),
    # phases
    "upcoming": ("○", "upcoming", ""),
    "open": ("●", "open", "good"),
    "closed": ("–", "closed", ""),
    # severities of rules
    "reject": ("✕", "reject", "bad"),
    "review": ("?", "review", "warn"),
    "warn": ("!", "warn", "warn"),
    "info": ("i", "to know", ""),
    "off": ("–", "off", ""),
}

# What must not be drawn as it is: controls, bidirectional and zero-width characters, undecodable bytes.
ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd\ud800-\udfff]"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def state_of(name: str) -> tuple[str, str, str]:
    """Return glyph, word and colour class of a state; an unknown one is shown by its own name."""
    return STATES.get(name, ("·", name.replace("_", " "), ""))


def visible(text: str) -> str:
    """Return text in which every character that could hide or reorder others is spelled out, as ⟨U+202E⟩."""
    return ODD.sub(lambda odd: f"⟨U+{ord(odd[0]):04X}⟩", text)


def log_text(text: str) -> str:
    """Return log text without terminal colours; a carriage return begins a line, everything else odd is spelled out."""
    return visible(_ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def duration(seconds: float | None) -> str:
    """Return a time span with two units: `12 min 04 s`, `3 d 04 h`."""
    if seconds is None or not math.isfinite(seconds):
        return "not known"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def clock(seconds: float | None) -> str:
    """Return a place in a run's budget: `12:04`."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"


def span(start: datetime, end: datetime) -> str:
    """Return how long it is from one moment to another."""
    return duration((end - start) / timedelta(seconds=1))


def bpb(value: float | None, step: float) -> str:
    """Return bits per byte, rounded to the phase's step and with its digits."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{rounded(value, step):.{digits_of(step)}f}"


def half_width(low: float | None, high: float | None, step: float) -> str:
    """Return the half width of an interval, with the digits of the scores it belongs to, never less than it is."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    steps = round((high - low) / step)
    return f"{(steps + 1) // 2 * step:.{digits_of(step)}f}"


def moment(value: datetime | str | None) -> datetime | None:
    """Return an aware UTC time from a time or its ISO text."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.astimezone(UTC) if value else None


def size(count: float | None) -> str:
    """Return bytes in steps of 1,024, as limits are given: `812 MB`, `2,048 MB`, `3.1 kB`."""
    if count is None or not math.isfinite(count):
        return "not known"
    if count < 1024:
        return f"{count:.0f} bytes"
    amount, unit = (count / 2**20, "MB") if count >= 2**20 else (count / 2**10, "kB")
    return f"{amount:,.1f} {unit}" if amount < 10 else f"{amount:,.0f} {unit}"


def percent(share: float | None) -> str:
    """Return a share: `97 %`, and of small ones a decimal more."""
    if share is None or not math.isfinite(share):
        return "not known"
    return f"{100 * share:.1f} %" if 0 < abs(share) < 0.01 else f"{100 * share:.0f} %"
