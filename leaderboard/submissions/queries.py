"""Reads of submissions, in the shape that the public API gives them and pages show."""

from typing import Any

from django.db.models import QuerySet

from leaderboard.accounts.models import User
from leaderboard.core.errors import Refusal
from leaderboard.submissions import quota
from leaderboard.submissions.models import FINAL, Event, State, Submission
from leaderboard.submissions.visibility import Access, Viewer, view_of

EVENTS_AT_ONCE = 500


def visible(user: Viewer, submission_id: int) -> tuple[Submission, Access]:
    """Return a submission and what `user` may read of it.

    Raises Refusal not_found (404) alike for one that is not there and one that is not to be seen.
    """
    rows = Submission.objects.select_related("phase__competition", "team")
    submission = rows.filter(pk=submission_id).first()
    access = view_of(user, submission) if submission else Access()
    if submission is None or not access.row:
        raise Refusal("not_found", "There is no such submission.", 404)
    return submission, access


def of_team(user: User) -> QuerySet[Submission]:
    """Return the submissions of the user's teams, newest first."""
    mine = Submission.objects.filter(team__memberships__user=user)
    return mine.select_related("phase__competition", "team").defer("script").order_by("-pk")


def submission_json(user: Viewer, submission: Submission, *, standing: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a submission as `user` may see it, in the shape of the public API.

    The board lies above this app: whoever has the submission's row passes it in as `standing`.
    """
    access = view_of(user, submission)
    phase = submission.phase
    body: dict[str, Any] = {
        "id": submission.pk,
        "version": submission.version,
        "team": submission.team.name,
        "competition": phase.competition.slug,
        "phase": phase.slug,
        "state": submission.state,
        "final": submission.state in FINAL,
        "created": submission.created.isoformat(),
        "note": submission.note,
        "standing": standing,
        "url": f"/submissions/{submission.pk}",
        "launch": submission.launch if access.script else None,
        "script_sha256": submission.script_sha256 if access.script else None,
        "reason": _reason(submission) if access.log else None,
        "report": _report(submission) if access.findings else None,
        "runs": _runs(submission, with_seed=access.seed) if access.log else [],
        "quota": quota.standing(submission.team, phase).to_json() if access.inside else None,
    }
    return body


def events_json(submission: Submission, after: int = 0) -> dict[str, Any]:
    """Return what happened after the event with that id, oldest first, and the state now."""
    rows = Event.objects.filter(submission=submission, id__gt=after)[:EVENTS_AT_ONCE]
    return {"events": [_event(row) for row in rows], "state": submission.state}


def _event(event: Event) -> dict[str, Any]:
    return {
        **event.data,
        "id": event.pk,
        "at": event.at.isoformat(),
        "kind": event.kind,
        "state": event.state,
        "message": event.message,
    }


def _reason(submission: Submission) -> dict[str, str] | None:
    if not submission.reason_code:
        return None
    return {"code": submission.reason_code, "message": submission.reason}


def _report(submission: Submission) -> Any:
    newest = submission.reports.order_by("-id").first()
    return newest.body if newest else None


def _runs(submission: Submission, *, with_seed: bool) -> list[dict[str, Any]]:
    budget = submission.phase.rules.budget
    return [
        {
            "index": run.index,
            "state": run.state,
            "step": run.step,
            "charged_seconds": run.charged_seconds,
            "budget_seconds": budget.seconds,
            "startup_seconds": run.startup_seconds,
            "startup_cap_seconds": budget.startup_cap_seconds,
            **({"seed": str(run.seed)} if with_seed else {}),  # text: JSON numbers lose bits beyond 2**53
        }
        for run in submission.runs.all()
    ]


def is_over(submission: Submission) -> bool:
    """Return whether nothing more happens to a submission by itself."""
    return State(submission.state) in FINAL
