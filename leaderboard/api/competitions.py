"""Competitions, their phases and the policy that their scripts are audited under; open to everybody."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router

from leaderboard.api.auth import Caller
from leaderboard.competitions.models import Competition, Phase, Policy
from leaderboard.core.errors import Refusal

router = Router(tags=["competitions"], auth=Caller(optional=True))


@router.get("")
def competitions(request: HttpRequest) -> list[dict[str, Any]]:
    """Return every competition with its phases in order."""
    now = timezone.now()
    return [
        {
            "slug": competition.slug,
            "title": competition.title,
            "phases": [_phase(phase, now) for phase in competition.phases.all()],
        }
        for competition in Competition.objects.prefetch_related("phases").order_by("pk")
    ]


@router.get("{slug}/policy")
def policy(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Return the newest policy of a competition, in the form that the reviewer reads."""
    newest = Policy.objects.filter(competition__slug=slug).order_by("-number").first()
    if newest is None:
        raise Refusal("not_found", f"There is no competition called {slug[:60]!r}.", 404)
    return {"policy": newest.body, "number": newest.number}


def _phase(phase: Phase, now: datetime) -> dict[str, Any]:
    rules = phase.rules
    return {
        "slug": phase.slug,
        "title": phase.title,
        "state": phase.state(now),
        "opens": phase.opens.isoformat(),
        "closes": phase.closes.isoformat(),
        "timezone": rules.timezone,
        "hardware": rules.hardware,
        "isolation": rules.isolation,
        "objective": rules.objective,
        "runs": rules.runs,
        "rounding": rules.rounding,
        "advance": rules.advance,
        "launch_default": rules.launch.default,
        "budget_seconds": rules.budget.seconds,
        "startup_cap_seconds": rules.budget.startup_cap_seconds,
        "script_bytes": rules.limits.script_bytes,
        "quota": {"submissions": rules.quota.submissions, "per": rules.quota.per},
    }
