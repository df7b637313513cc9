"""Submissions: send one in, list one's own, see how one goes, take it back."""

from functools import partial
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import File, Form, Header, Query, Router, Status, UploadedFile

from leaderboard.accounts.models import Scope
from leaderboard.accounts.once import once
from leaderboard.api import mine, shapes
from leaderboard.api.auth import Caller, Sender, caller_of, person_of
from leaderboard.core.errors import Refusal
from leaderboard.runs.queries import log_json, receipts_json
from leaderboard.standings.queries import submission_json
from leaderboard.submissions import services
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.queries import events_json, visible

router = Router(tags=["submissions"])


Whole = dict[str, Any]  # a submission as standings.queries.submission_json writes it
LARGEST = 2**63 - 1


@router.get("", response=shapes.answers(shapes.Page, 400, 401, 404))
def own(
    request: HttpRequest,
    competition: Query[str | None] = None,
    state: Query[State | None] = None,
    cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
) -> dict[str, Any]:
    """Return the submissions of the caller's teams, newest first; `next` of one page is the `cursor` of the next."""
    return mine.page_of(person_of(request), competition=competition, state=state, cursor=cursor, limit=limit)


@router.post(
    "",
    auth=Sender(),
    response={**shapes.answers(Whole, 400, 401, 403, 404, 409, 413, 429, ok=201), 200: Whole},
)
def create(
    request: HttpRequest,
    competition: Form[str],
    phase: Form[str],
    script: File[UploadedFile],
    launch: Form[str] = "",
    note: Form[str] = "",
    idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Status[Any]:
    """Send in a script for a phase; the audit starts at once and nothing is spent before it is over.

    With an `Idempotency-Key` the same upload sent again answers 200 with the submission that is there already.
    """
    user = person_of(request)
    text = script.read(services.READ_AT_MOST)
    receive = partial(
        services.receive,
        user=user,
        competition_slug=competition,
        phase_slug=phase,
        script=text,
        launch=launch,
        note=note,
    )
    if idempotency_key is None:
        return Status(201, submission_json(user, receive()))
    content = [part.encode() for part in (competition, phase, launch, note)]
    made, fresh = once(user=user, key=idempotency_key, content=[*content, text], make=receive)
    submission = made if isinstance(made, Submission) else visible(user, made)[0]
    return Status(201 if fresh else 200, submission_json(user, submission))


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


@router.post("{int:number}/cancel", auth=Caller(scope=Scope.SUBMIT), response=shapes.answers(Whole, 401, 403, 404, 409))
def cancel(request: HttpRequest, number: int) -> dict[str, Any]:
    """Take a submission back that has not ended; a running one is stopped. 409 `already_over` for any other."""
    user = person_of(request)
    submission, _ = visible(user, number)
    return submission_json(user, services.withdraw(user=user, submission=submission, living_only=True))


@router.post(
    "{int:number}/withdraw", auth=Caller(scope=Scope.SUBMIT), response=shapes.answers(Whole, 401, 403, 404, 409)
)
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
