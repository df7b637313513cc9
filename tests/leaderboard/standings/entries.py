"""Ranked submissions without their way: rows for tests of a board."""

from datetime import datetime
from statistics import fmean, stdev
from typing import Any

from django.db import transaction

from leaderboard.competitions.models import Phase
from leaderboard.runs.models import Run
from leaderboard.submissions.models import State, Submission
from tests.leaderboard.cast import later, make_user
from tests.leaderboard.host import send


def ranked(
    phase: Phase, user: Any, *values: float, script: str = "# x", when: datetime | None = None, **fields: Any
) -> Submission:
    """Send in a script and write down that its runs scored `values`; each run charged 1.5 seconds."""
    submission = send(user, phase.competition, f"{script} {Submission.objects.count():04d}", phase=phase.slug)
    with transaction.atomic():
        for index in range(len(values)):
            Run.objects.create(submission=submission, index=index, seed=index, state="scored", charged_seconds=1.5)
        Submission.objects.filter(pk=submission.pk).update(
            state=State.RANKED,
            deadline=None,
            mean_bpb=fmean(values),
            sd_bpb=stdev(values) if len(values) > 1 else None,
            n_scores=len(values),
            ranked_at=when or later(seconds=-1),
            **fields,
        )
    submission.refresh_from_db()
    return submission


def people(count: int) -> list[Any]:
    return [make_user(f"person-{number}") for number in range(count)]
