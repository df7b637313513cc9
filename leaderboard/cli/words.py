"""The sentences: the same words for a page, a terminal and a log. Pure functions of what the server said."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime
from typing import Any

from leaderboard.cli.answers import Submission, number

GLYPHS = {
    "received": "○", "auditing": "◔", "rejected": "✕", "in_review": "?", "accepted": "✓", "queued": "⋯", "running": "▶",
    "scoring": "◇", "ranked": "●", "failed": "!", "errored": "↻", "withdrawn": "–", "disqualified": "⊘",
}  # fmt: skip


# Before the excluded steps are done all time is startup: a server gives both clocks the same reading then.
STILL_STARTING = 0.05


def clean(text: object) -> str:
    """Return text from elsewhere without control characters: no escape sequence reaches a terminal."""
    return "".join(c if c == "\n" or not unicodedata.category(c).startswith("C") else " " for c in str(text))


def one_line(text: object) -> str:
    """Return cleaned text on one line."""
    return " ".join(clean(text).split())


def state_word(state: str) -> str:
    """Return the chip of a state: glyph and word, never one of them alone."""
    return f"{GLYPHS.get(state, '·')} {one_line(state).replace('_', ' ')}"


def duration(seconds: float) -> str:
    """Return `12 min 04 s`, `2 h 05 min`, `3 d 04 h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02} h"


def local_time(text: object, now: datetime) -> str | None:
    """Return an ISO time in the reader's zone with the time left, or None where it is no time."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    left = (moment - now).total_seconds()
    return f"{moment.astimezone():%a %d %b %H:%M}" + (f", in {duration(left)}" if left > 0 else "")


def moment(text: object, *, year: bool = False) -> str:
    """Return an ISO time short, in the reader's zone; nothing where it is no time."""
    try:
        return f"{datetime.fromisoformat(str(text)).astimezone():{'%d %b %Y' if year else '%d %b %H:%M'}}"
    except (ValueError, OverflowError, OSError):
        return ""


def digits(step: Any) -> int | None:
    """Return how many decimals a phase's rounding step shows, or None where it is not known."""
    if isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 < step <= 1:
        return None
    return len(f"{step:.9f}".rstrip("0").partition(".")[2])


def bpb_text(row: dict[str, Any], places: int | None) -> str:
    """Return `0.959 ± 0.004 (n = 3)`; without an interval it says that none is known yet."""
    bpb, low, high = number(row, "bpb"), number(row, "ci_low"), number(row, "ci_high")
    if bpb is None:
        why = one_line(row.get("outcome") or "")
        return f"no score: {why}" if why else "no score"
    places = len(str(bpb).partition(".")[2]) if places is None else places
    shown = max(places, 1)
    half = "" if low is None or high is None else f" ± {_up((high - low) / 2, shown):.{shown}f}"
    unknown = "" if half else ", no interval yet"
    return f"{bpb:.{places}f}{half} (n = {one_line(row.get('n', 1))}{unknown})"


def _up(value: float, places: int) -> float:
    """Return a half width that is no less for having been rounded; what float64 makes of it counts for nothing."""
    steps = 10.0**places
    return math.ceil(round(value * steps, 6)) / steps


def private_text(submission: Submission) -> str:
    """Return the sentence of a submission's place on the private board, or of there being none."""
    row = submission.private
    if not row:
        return "private board: sealed until the release, or your team stands with another version."
    if row.get("rank") is None:
        return f"private board: no place, {one_line(row.get('outcome') or 'without a score')}."
    places = digits((submission.standing or {}).get("rounding"))
    return f"private board: ranked {one_line(row['rank'])}, {bpb_text(row, places)} bits per byte."


def progress(submission: Submission) -> str | None:
    """Return what the running run has reached, or None when none is running."""
    for position, run in enumerate(submission.runs, start=1):
        if run.get("state") != "running":
            continue
        parts = [f"run {position} of {len(submission.runs)}"] if len(submission.runs) > 1 else []
        if (step := number(run, "step")) is not None:
            parts.append(f"step {step:,.0f}")
        charged, budget = number(run, "charged_seconds"), number(run, "budget_seconds")
        startup = number(run, "startup_seconds")
        if startup and charged is not None and abs(charged - startup) < STILL_STARTING:
            parts.append(f"starting up, {duration(startup)}")
            return " · ".join(parts)
        if charged is not None:
            parts.append(duration(charged) + (f" of {duration(budget)}" if budget else "") + " charged")
        if startup:
            parts.append(f"startup {duration(startup)}")
        return " · ".join(parts) or None
    return None


def received(submission: Submission, place: str) -> str:
    """Return the first line after an upload."""
    version = f", version {submission.version}" if submission.version is not None else ""
    where = ", ".join(part for part in (submission.competition, submission.phase) if part)
    quota = submission.quota or {}
    used, limit = number(quota, "used"), number(quota, "limit")
    spent = (
        f"; {used:.0f} of {limit:.0f} submissions used, free again if it is rejected"
        if used is not None and limit is not None
        else ""
    )
    return one_line(f"Submission {submission.id}{version} is with {place} ({where}){spent}.")
