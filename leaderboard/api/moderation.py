"""The organizers' side of a submission: one decision, with its reason."""

from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from leaderboard.api.auth import person_of
from leaderboard.api.body import json_of, shaped
from leaderboard.standings.queries import submission_json
from leaderboard.submissions.moderation import moderate
from leaderboard.submissions.queries import visible

router = Router(tags=["moderation"])


class Decision(BaseModel):
    """What is decided and why; `seen` is the id of the newest decision event that the organizer knew of."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    action: str = Field(max_length=20)
    reason: str = ""
    seen: int | None = Field(default=None, ge=0)


BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": Decision.model_json_schema()}}}}


@router.post("{int:number}/decision", openapi_extra=BODY)
def decide(request: HttpRequest, number: int) -> dict[str, Any]:
    """Accept, reject, disqualify, reinstate or run again; all but accept take a reason, which the team reads.

    409 `decided` where another organizer was first, `wrong_state` where the submission is not in a state for it.
    """
    organizer = person_of(request)
    submission, _ = visible(organizer, number)
    asked = shaped(Decision, json_of(request))
    done = moderate(
        organizer=organizer, submission=submission, action=asked.action, reason=asked.reason, seen=asked.seen
    )
    return submission_json(organizer, done)
