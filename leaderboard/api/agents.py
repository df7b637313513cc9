"""The hosts' side: claim an attempt, fetch its script, report on it, hand in its receipt.

A claim takes the agent's key; all else takes the capability that the claim gave, which is for one attempt and for as
long as it shows life.
"""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from leaderboard.api.auth import AgentKey, CapabilityText
from leaderboard.api.body import json_of, raw_of, shaped
from leaderboard.core.errors import Refusal
from leaderboard.env import env
from leaderboard.runs import leases, services
from leaderboard.runs.models import Agent, Attempt
from leaderboard.submissions.models import Submission

router = Router(tags=["agents"], auth=CapabilityText())


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Claim(_Body):
    """Public half of the key that will sign the receipt, facts about the host, and how well it isolates."""

    public_key: str = Field(max_length=64)
    host: dict[str, Any] = {}
    isolation: str = Field(max_length=20)


class Events(_Body):
    """Events of the runner, oldest first."""

    events: list[dict[str, Any]] = Field(max_length=5000)


class Finish(_Body):
    """A signed receipt, or the sentence that says why there is none and which outcome of ours that is."""

    receipt: dict[str, Any] | None = None
    signature: str = Field(default="", max_length=128)
    fault: str | None = None
    cause: Literal["host_fault", "host_full"] = "host_fault"


@router.post("attempts/{int:attempt_id}/claim", auth=AgentKey())
def claim(request: HttpRequest, attempt_id: int) -> dict[str, Any]:
    """Lease an attempt."""
    agent: Agent = request.auth  # type: ignore[attr-defined]  # ninja puts it there
    asked = shaped(Claim, json_of(request))
    lease = leases.claim(
        agent=agent,
        attempt_id=attempt_id,
        public_key=asked.public_key,
        host=asked.host,
        isolation=asked.isolation,
    )
    return {
        "capability": lease.capability,
        "expires": lease.expires.isoformat(),
        "heartbeat_seconds": env().heartbeat_seconds,
        "job": lease.job,
    }


@router.get("attempts/{int:attempt_id}/script")
def script(request: HttpRequest, attempt_id: int) -> HttpResponse:
    """Return the audited bytes."""
    attempt = _held(request, attempt_id)
    leases.require_live(attempt)
    text = Submission.objects.values_list("script", flat=True).get(pk=attempt.run.submission_id)
    return HttpResponse(bytes(text), content_type="application/octet-stream")


@router.post("attempts/{int:attempt_id}/events")
def events(request: HttpRequest, attempt_id: int) -> dict[str, Any]:
    """Take in events, which is also the sign of life; answer whether the run is to be stopped."""
    attempt = _held(request, attempt_id)
    told = shaped(Events, json_of(request)).events
    return {"cancel": services.report(attempt, [shaped(services.HostEvent, event) for event in told])}


@router.put("attempts/{int:attempt_id}/log")
def log(request: HttpRequest, attempt_id: int, offset: int = 0) -> dict[str, int]:
    """Append to the training log at a byte offset; 409 with the size where that would leave a hole."""
    attempt = _held(request, attempt_id)
    fitted, size = services.take_log(attempt, offset, raw_of(request))
    if not fitted:
        raise Refusal("log_hole", f"The log has {size} bytes so far.", 409, size=size)
    return {"size": size}


@router.post("attempts/{int:attempt_id}/finish")
def finish(request: HttpRequest, attempt_id: int) -> dict[str, Any]:
    """Hand in the end of an attempt; the same end twice is one end."""
    attempt = _held(request, attempt_id)
    end = shaped(Finish, json_of(request))
    if end.receipt is not None:
        services.finish(attempt, receipt=end.receipt, signature=end.signature)
    elif end.fault is not None:
        services.give_up(attempt, end.fault, end.cause)
    else:
        raise Refusal("bad_request", "Send a receipt with its signature, or a fault.")
    return {"accepted": True}


def _held(request: HttpRequest, attempt_id: int) -> Attempt:
    capability: str = request.auth  # type: ignore[attr-defined]  # ninja puts it there
    return leases.holder(attempt_id, capability)
