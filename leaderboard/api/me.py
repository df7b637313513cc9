"""Who the caller is, and by which token."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from leaderboard.accounts.models import Membership, Scope
from leaderboard.accounts.services import revoke_token
from leaderboard.api import shapes
from leaderboard.api.auth import Caller, person_of, token_of
from leaderboard.core.errors import Refusal

router = Router(tags=["me"])


@router.get("", response=shapes.answers(shapes.Me, 401))
def me(request: HttpRequest) -> dict[str, Any]:
    """Return the caller's name and teams, and what the token may do."""
    user, token = person_of(request), token_of(request)
    teams = Membership.objects.filter(user=user).select_related("team__competition").order_by("pk")
    return {
        "user": user.get_username(),
        "teams": [{"competition": row.team.competition.slug, "team": row.team.name} for row in teams],
        "token": {"name": token.name, "scope": token.scope, "expires": token.expires} if token else None,
    }


@router.post("token/revoke", auth=Caller(scope=Scope.READ), response=shapes.answers(shapes.Revoked, 400, 401, 403))
def revoke(request: HttpRequest) -> dict[str, Any]:
    """Take the token back that this request came with; every token may do that to itself."""
    user, token = person_of(request), token_of(request)
    if token is None:
        raise Refusal("no_token", "You came by the site's session; tokens are revoked on the site under Tokens.")
    revoke_token(user=user, token_id=token.pk)
    return {"revoked": True}
