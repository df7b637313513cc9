"""What an organizer's desk shows of a submission: who waits, what is new in it, what can be done."""

from dataclasses import dataclass
from typing import Any

from leaderboard.competitions.models import Competition
from leaderboard.submissions import kinship, review, secondlook
from leaderboard.submissions.models import Event, State, Submission
from leaderboard.submissions.moderation import REASON_CHARACTERS, VERBS, Action, possible
from leaderboard.web import findings
from leaderboard.web.changes import share_new
from leaderboard.web.source import decode

# What follows from each action, in the words that stand beside its button.
FOLLOWS = {
    "accept": "It is charged to the team's quota and waits for a host.",
    "reject": "It costs the team nothing.",
    "disqualify": "It leaves the board at once, or stops where it is; its team keeps seeing it, with the reason.",
    "reinstate": "It stands again as it stood; what was stopped goes on with the same seeds.",
    "rerun": "Same seeds; finished runs keep their scores, all attempts stay on record, and no quota is taken.",
}


@dataclass(frozen=True)
class Waiting:
    """A row of the queue. `new` is the share of lines that its team's version before it did not have, 0 to 1."""

    submission: Submission
    headline: list[tuple[str, str]]
    previous: Submission | None
    new: float | None

    @property
    def percent(self) -> int:
        return round(100 * (self.new or 0))


@dataclass(frozen=True)
class Button:
    """An action that can be taken: its order, what follows from it, and whether it asks for a reason."""

    action: str
    words: str
    follows: str
    reason: bool


def rows(competition: Competition) -> list[Waiting]:
    """Return what waits for a decision, the one that waits longest first."""
    return [
        Waiting(
            each.submission,
            findings.headline(each.report.body) if each.report else [],
            each.previous,
            new_since(each.previous, each.submission),
        )
        for each in review.entries(competition)
    ]


def new_since(previous: Submission | None, submission: Submission) -> float | None:
    """Return the share of a version's lines that the one before did not have; None for the first version."""
    return share_new(decode(previous.script), decode(submission.script)) if previous else None


def desk(submission: Submission, last: Event | None) -> dict[str, Any]:
    """Return the context of the buttons; `last` is the newest decision there was."""
    return {
        "buttons": [
            Button(action.value, VERBS[action].words, _follows(action, submission), VERBS[action].reason)
            for action in possible(submission)
        ],
        "seen": last.pk if last else 0,
        "limit": REASON_CHARACTERS,
    }


def _follows(action: Action, submission: Submission) -> str:
    if action == Action.REINSTATE and submission.state == State.REJECTED:
        return "It is accepted and runs, as if the audit had let it pass; no quota is taken."
    return FOLLOWS[action.value]


def descent(submission: Submission) -> dict[str, Any]:
    """Return the context of a submission's kin: its line, the look that is open at it, and what a ruling reopens."""
    line = kinship.line_of(submission)
    ruled = bool(line) and secondlook.ruled_against(submission)
    reopens = secondlook.to_reopen(submission) if ruled else []
    return {
        "line": line,
        "look": secondlook.open_look(submission),
        "reopens": reopens,
        "reopens_digest": secondlook.digest_of(reopens),
    }


def neighbours(waiting: list[int], pk: int) -> tuple[int | None, int | None]:
    """Return who waits before and after a submission; of one that does not wait, nobody before and the first after."""
    if pk not in waiting:
        return None, waiting[0] if waiting else None
    at = waiting.index(pk)
    return (waiting[at - 1] if at else None), (waiting[at + 1] if at + 1 < len(waiting) else None)
