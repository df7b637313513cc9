"""The states of a submission as a table: which may follow which, who acts on a waiting one, and how soon.

    upload ─ audit ─┬─ rejected
                    ├─ in review ── organizer ──┐
                    └─ accepted ────────────────┴─ queued ─ running ─ scoring ─ ranked

`failed` is the script's, `errored` is ours, `withdrawn` the team's, `disqualified` the organizer's. Only an organizer
leads out of an end: what failed or errored is run again, what was disqualified is reinstated to where it stood, and
what the audit has rejected is accepted where a later audit, under other rules, does not reject it.
"""

from dataclasses import dataclass
from datetime import timedelta

from leaderboard.env import env
from leaderboard.submissions.models import FINAL, State

S = State

EDGES: dict[State, frozenset[State]] = {
    S.RECEIVED: frozenset({S.AUDITING, S.ERRORED, S.WITHDRAWN}),
    S.AUDITING: frozenset({S.RECEIVED, S.REJECTED, S.IN_REVIEW, S.ACCEPTED, S.WITHDRAWN}),
    S.IN_REVIEW: frozenset({S.ACCEPTED, S.REJECTED, S.WITHDRAWN}),
    S.ACCEPTED: frozenset({S.QUEUED, S.ERRORED, S.WITHDRAWN}),
    S.QUEUED: frozenset({S.RUNNING, S.SCORING, S.FAILED, S.ERRORED, S.WITHDRAWN, S.DISQUALIFIED}),
    S.RUNNING: frozenset({S.SCORING, S.FAILED, S.ERRORED, S.WITHDRAWN, S.DISQUALIFIED}),
    S.SCORING: frozenset({S.RANKED, S.FAILED, S.ERRORED, S.WITHDRAWN, S.DISQUALIFIED}),
    S.RANKED: frozenset({S.WITHDRAWN, S.DISQUALIFIED}),
    S.REJECTED: frozenset({S.ACCEPTED}),
    S.FAILED: frozenset({S.QUEUED}),
    S.ERRORED: frozenset({S.QUEUED}),
    S.WITHDRAWN: frozenset(),
    S.DISQUALIFIED: frozenset({S.RANKED, S.QUEUED}),
}


@dataclass(frozen=True)
class Waiting:
    """Who moves a submission on, and after how long the reaper looks whether they did (None: a person decides)."""

    owner: str
    look_after: timedelta | None


def waiting(state: State) -> Waiting | None:
    """Return owner and deadline of a state, None of a final one."""
    return None if state in FINAL else _waits()[state]


def _waits() -> dict[State, Waiting]:
    soon = timedelta(seconds=5)
    return {
        S.RECEIVED: Waiting("audit task", soon),
        S.AUDITING: Waiting("audit task", timedelta(seconds=env().audit_seconds)),
        S.IN_REVIEW: Waiting("organizer", None),
        S.ACCEPTED: Waiting("dispatch task", soon),
        S.QUEUED: Waiting("an agent", soon),
        S.RUNNING: Waiting("the agents that lease its attempts", soon),
        S.SCORING: Waiting("the agents that lease its attempts", soon),
    }


BEFORE_START = frozenset({S.RECEIVED, S.AUDITING, S.IN_REVIEW, S.ACCEPTED, S.QUEUED})
AT_WORK = frozenset({S.QUEUED, S.RUNNING, S.SCORING})
MAY_BE_SENT_AGAIN = frozenset({S.REJECTED, S.WITHDRAWN, S.FAILED, S.ERRORED})
