"""Who the caller is."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from leaderboard.accounts.models import Membership
from leaderboard.api.auth import person_of

router = Router(tags=["me"])


@router.get("")
def me(request: HttpRequest) -> dict[str, Any]:
    """Return the caller's name and teams."""
    user = person_of(request)
    teams = Membership.objects.filter(user=user).select_related("team__competition").order_by("pk")
    return {
        "user": user.get_username(),
        "teams": [{"competition": row.team.competition.slug, "team": row.team.name} for row in teams],
    }
