"""A glance at a submission: whether anything on its page has changed, for a few small queries.

An open page asks this every second or oftener, and mostly nothing has. So the answer comes from ids, states and
figures alone; script, report, history and receipts are read only when there is something new to show.
"""

import json
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from leaderboard.runs.models import Run
from leaderboard.runs.queries import attempts_shown
from leaderboard.submissions import quota
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.visibility import Access
from leaderboard.web import logview
from leaderboard.web.live import tag_of

EVERY = {State.RUNNING: 2, State.QUEUED: 2, State.IN_REVIEW: 15}  # seconds between questions; every other state: 1
SOON, FRESH = 0.2, timedelta(seconds=5)  # between questions for the audit's first word, while it may come any moment


@dataclass(frozen=True)
class Glance:
    """What was seen. `stamp` changes when the page does, `attempts` when the part about attempts does."""

    stamp: str
    attempts: str
    has_log: bool
    every: float  # seconds until the page asks again


def glance(submission: Submission, access: Access) -> Glance:
    """Look at a submission that is not over. Take the glance before what is shown: older, it only asks once more.

    How soon to ask again is part of the stamp, so that a page whose audit is late asks less often.
    """
    if not access.log:
        return Glance("", "", has_log=False, every=every(submission))
    newest = submission.events.order_by("-pk").values_list("pk", flat=True).first()
    runs = Run.objects.filter(submission=submission)
    figures = list(runs.values_list("state", "step", "charged_seconds", "startup_seconds"))
    # Never by their ids, not even hashed: those count hidden attempts too.
    attempts = list(attempts_shown(submission, access).values_list("run__index", "kind", "shard", "number", "state"))
    has_log = bool(attempts) and logview.has_log(submission)
    places = quota.standing(submission.team, submission.phase).to_json() if access.inside else None
    seen = [submission.state, newest, figures, attempts, has_log, places, every(submission)]
    return Glance(json.dumps(seen), tag_of(json.dumps(attempts)), has_log, every(submission))


def every(submission: Submission) -> float:
    """Return the seconds between two questions."""
    waits_for_audit = submission.state in (State.RECEIVED, State.AUDITING)
    if waits_for_audit and timezone.now() - submission.created < FRESH:
        return SOON
    return EVERY.get(State(submission.state), 1)
