"""Reads of runs: the training log, as text in pieces."""

from typing import Any

from leaderboard.core.storage import read_log
from leaderboard.runs.models import Attempt
from leaderboard.submissions.models import Submission
from leaderboard.submissions.queries import is_over

PIECE_BYTES = 64 * 1024


def newest_training(submission: Submission, index: int) -> Attempt | None:
    """Return the newest training attempt of a run that a host has begun."""
    begun = Attempt.objects.filter(run__submission=submission, run__index=index, kind=Attempt.Kind.TRAIN)
    return begun.exclude(leased_at=None).order_by("-number").first()


def log_json(submission: Submission, *, offset: int = 0, index: int = 0, limit: int = PIECE_BYTES) -> dict[str, Any]:
    """Return the log's text from byte `offset` on, where to go on, and whether that is all there will be.

    A repeated run starts a new log: `attempt` says whose it is. Characters that are cut by the end wait for the rest.
    """
    attempt = newest_training(submission, index)
    if attempt is None:
        return {"offset": 0, "next": 0, "text": "", "final": is_over(submission), "attempt": 0}
    data, size = read_log(attempt.pk, offset, limit)
    ended = attempt.ended_at is not None
    offset = min(max(offset, 0), size)
    if not ended or offset + len(data) < size:
        data = data[: len(data) - _cut_bytes(data)]
    following = offset + len(data)
    return {
        "offset": offset,
        "next": following,
        "text": data.decode("utf-8", "replace"),
        "final": ended and following >= size,
        "attempt": attempt.number,
    }


def _cut_bytes(data: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character that is not complete."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed else 0
    return 0
