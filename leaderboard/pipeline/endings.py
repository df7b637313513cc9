"""What an attempt's end means for its submission: go on, the script's failure, or ours and to be repeated."""

import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

from leaderboard.runs.models import Attempt
from scoring import outcomes

LINE_CHARACTERS = 300


@dataclass(frozen=True)
class Ending:
    """Whose end it is, its code, and one sentence for the team."""

    whose: Literal["good", "script", "platform"]
    code: str
    sentence: str


def ending_of(attempt: Attempt) -> Ending:
    """Read the end of a finished or lost attempt.

    A cancelled run of a submission that nobody withdrew was stopped by its host, and that is ours.
    """
    code = attempt.cause or "lost"
    outcome = outcomes.OUTCOMES.get(code) or outcomes.of("host_fault")
    if code == outcomes.OK and attempt.kind == Attempt.Kind.SCORE and not _in_range(attempt.receipt.body["score"]):
        return Ending("script", "bad_metric", outcomes.of("bad_metric").sentence)
    if code == outcomes.OK:
        return Ending("good", code, outcome.sentence)
    if outcome.owner == "script":
        return Ending("script", code, _with_detail(outcome.sentence, attempt.detail))
    told = attempt.detail if code == "contention" else ""  # other details may name what is the host's own
    return Ending("platform", code, _with_detail(outcome.sentence, told))


def _in_range(score: dict[str, Any]) -> bool:
    """Return whether what was scored, and what is published of it, can be a score."""
    return all(0 < score[key] <= 64 for key in ("bpb", "published_bpb") if key in score)


def _with_detail(sentence: str, detail: str) -> str:
    """Add the last line of the detail (of a traceback, the one that names the error), as printable text."""
    lines = ["".join(c if unicodedata.category(c)[0] != "C" else " " for c in line) for line in detail.splitlines()]
    said = [line.strip() for line in lines if line.strip()]
    return f"{sentence.rstrip('.')}: {said[-1][:LINE_CHARACTERS]}" if said else sentence
