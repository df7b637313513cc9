"""What an end state means: the exit code, the last event, and the last sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leaderboard.cli.answers import Submission
from leaderboard.cli.errors import Exit
from leaderboard.cli.words import bpb_text, clean, digits, one_line, state_word

_EXITS = {
    "ranked": Exit.OK,
    "rejected": Exit.REJECTED,
    "failed": Exit.FAILED,
    "withdrawn": Exit.FAILED,
    "disqualified": Exit.FAILED,
    "errored": Exit.PLATFORM,
    "in_review": Exit.IN_REVIEW,
}
_SAID = {
    "rejected": "the audit refuses it; nothing was spent",
    "failed": "your script",
    "errored": "ours; your quota is given back",
    "withdrawn": "your team took it back",
    "disqualified": "the organizer's decision",
    "in_review": "an organizer looks at it; it goes on by itself when accepted",
}


@dataclass(frozen=True)
class Outcome:
    """How waiting ended."""

    exit: Exit
    event: dict[str, Any]
    sentence: str


def ends_waiting(state: object) -> bool:
    """Return whether a submission in this state has an outcome."""
    return state in _EXITS


def outcome_of(submission: Submission, url: str) -> Outcome | None:
    """Return the outcome, or None while there is something to wait for. `url` is the submission's page."""
    if not ends_waiting(submission.state):
        return None
    if submission.state == "ranked":
        return _ranked(submission, url)
    code, reason = submission.reason or (submission.state, "")
    event: dict[str, Any] = {"event": submission.state, "code": code, "reason": reason, "submission": submission.id}
    if submission.state in ("rejected", "in_review"):
        event["findings"] = (submission.report or {}).get("findings", [])
    said = "an organizer's decision; nothing was spent" if code == "organizer" else _SAID[submission.state]
    head = f"{state_word(submission.state)} ({said})"
    sentence = f"{head}: {clean(reason).strip()}" if reason else f"{head}."
    return Outcome(_EXITS[submission.state], {**event, "url": url}, f"{sentence}\n{one_line(url)}")


def _ranked(submission: Submission, url: str) -> Outcome:
    row = submission.standing or {}
    event = {"event": "ranked", "submission": submission.id}
    event |= {key: row.get(key) for key in ("rank", "bpb", "n", "ci_low", "ci_high")}
    if not row:
        sentence = f"{state_word('ranked')}: its place is on the board"
    else:
        sentence = f"{state_word('ranked')} {row['rank']}: {bpb_text(row, digits(row.get('rounding')))} bits per byte"
        sentence += ", lower is better" if row.get("stands", True) else "; your team stands with a better version"
    return Outcome(Exit.OK, {**event, "url": url}, f"{sentence}\n{one_line(url)}")
