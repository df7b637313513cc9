"""Reads of submissions, in the shape that the public API gives them and pages show."""

from typing import Any

from leaderboard.core.errors import Refusal
from leaderboard.submissions import quota
from leaderboard.submissions.models import FINAL, Event, State, Submission
from leaderboard.submissions.opened import opened
from leaderboard.submissions.visibility import Access, Viewer, view_of

EVENTS_AT_ONCE = 500


def visible(user: Viewer, submission_id: int) -> tuple[Submission, Access]:
    """Return a submission and what `user` may read of it; the script is read when it is asked for.

    Raises Refusal not_found (404) alike for one that is not there and one that is not to be seen.
    """
    rows = Submission.objects.select_related("phase__competition", "team").defer("script")
    submission = rows.filter(pk=submission_id).first()
    access = view_of(user, submission) if submission else Access()
    if submission is None or not access.row:
        raise Refusal("not_found", "There is no such submission.", 404)
    return submission, access


def submission_json(
    user: Viewer, submission: Submission, *, runs: list[dict[str, Any]], standing: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a submission as `user` may see it, in the shape of the public API.

    Runs and board lie above this app: whoever has the submission's runs and its row passes them in.
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
        "report": report_for(access, submission),
        "runs": runs if access.log else [],
        "quota": quota.standing(submission.team, phase).to_json() if access.inside else None,
    }
    return body


def events_json(submission: Submission, after: int = 0) -> dict[str, Any]:
    """Return what happened after the event with that id, oldest first, and the state now."""
    rows = Event.objects.filter(submission=submission, id__gt=after)[:EVENTS_AT_ONCE]
    return {"events": [_event(row) for row in rows], "state": submission.state}


def history(submission: Submission) -> list[dict[str, Any]]:
    """Return the newest events of a submission, oldest first, without the progress between them."""
    newest = Event.objects.filter(submission=submission).exclude(kind="progress").order_by("-id")[:EVENTS_AT_ONCE]
    return [_event(row) for row in reversed(newest)]


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


def newest_report(submission: Submission) -> Any:
    """Return what the newest audit said, None before the first; the caller has asked who may read it."""
    newest = submission.reports.order_by("-id").first()
    return newest.body if newest else None


def report_for(access: Access, submission: Submission) -> Any:
    """Return of the newest report what somebody may read."""
    report = newest_report(submission) if access.findings else None
    if report is None or access.inside:
        return report
    return opened(report, with_source=access.script)


def is_over(submission: Submission) -> bool:
    """Return whether nothing more happens to a submission by itself."""
    return State(submission.state) in FINAL
