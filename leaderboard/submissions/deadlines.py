"""Deadlines that lie further ahead than any state waits: left by a clock that was an hour ahead."""

from datetime import datetime

from leaderboard.submissions.models import FINAL, State, Submission
from leaderboard.submissions.states import waiting


def pull_back(now: datetime) -> int:
    """Let nothing be looked at later than its state's own wait from `now` on; return how many deadlines moved."""
    moved = 0
    for state in set(State) - FINAL:
        due = waiting(state)
        if due and due.look_after:
            latest = now + due.look_after
            moved += Submission.objects.filter(state=state, deadline__gt=latest).update(deadline=latest)
    return moved
