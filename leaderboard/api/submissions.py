"""Submissions: send one in, see how it goes, take it back."""

from typing import Any

from django.http import HttpRequest
from ninja import File, Form, Router, Status, UploadedFile

from leaderboard.api.auth import Caller, caller_of, person_of
from leaderboard.core.errors import Refusal
from leaderboard.runs.queries import log_json, receipts_json
from leaderboard.standings.queries import submission_json
from leaderboard.submissions import services
from leaderboard.submissions.models import Submission
from leaderboard.submissions.queries import events_json, visible

router = Router(tags=["submissions"])


@router.post("", response={201: dict[str, Any]})
def create(
    request: HttpRequest,
    competition: Form[str],
    phase: Form[str],
    script: File[UploadedFile],
    launch: Form[str] = "",
    note: Form[str] = "",
) -> Status[dict[str, Any]]:
    """Send in a script for a phase; the audit starts at once and nothing is spent before it is over."""
    user = person_of(request)
    submission = services.receive(
        user=user,
        competition_slug=competition,
        phase_slug=phase,
        script=script.read(services.READ_AT_MOST),
        launch=launch,
        note=note,
    )
    return Status(201, submission_json(user, submission))


@router.get("{int:number}", auth=Caller(optional=True))
def show(request: HttpRequest, number: int) -> dict[str, Any]:
    """Return a submission as the caller may see it."""
    submission, _ = visible(caller_of(request), number)
    return submission_json(caller_of(request), submission)


@router.get("{int:number}/events", auth=Caller(optional=True))
def events(request: HttpRequest, number: int, after: int = 0) -> dict[str, Any]:
    """Return what happened after the event with the id `after`, oldest first."""
    return events_json(_open_log(request, number), after)


@router.get("{int:number}/log", auth=Caller(optional=True))
def log(request: HttpRequest, number: int, offset: int = 0, run: int = 0) -> dict[str, Any]:
    """Return a piece of a run's training log from byte `offset` on."""
    return log_json(_open_log(request, number), offset=offset, index=run)


@router.get("{int:number}/receipts", auth=Caller(optional=True), url_name="receipts")
def receipts(request: HttpRequest, number: int) -> dict[str, Any]:
    """Return the signed receipts of the attempts, each with the public key that its host had registered."""
    submission, access = visible(caller_of(request), number)
    if not access.receipt:
        raise Refusal("not_found", "The receipts of this submission are not open to you.", 404)
    return {"receipts": receipts_json(submission, access)}


@router.post("{int:number}/withdraw")
def withdraw(request: HttpRequest, number: int) -> dict[str, Any]:
    """Take a submission back; a running one is stopped."""
    user = person_of(request)
    submission, _ = visible(user, number)
    return submission_json(user, services.withdraw(user=user, submission=submission))


def _open_log(request: HttpRequest, number: int) -> Submission:
    submission, access = visible(caller_of(request), number)
    if not access.log:
        raise Refusal("not_found", "Events and log of this submission are not open to you.", 404)
    return submission
