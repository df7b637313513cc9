"""The boards of a phase, as JSON and as CSV."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers
from ninja import Router

from leaderboard.api import shapes
from leaderboard.api.auth import Caller, caller_of
from leaderboard.competitions.queries import find_phase
from leaderboard.standings.queries import board
from leaderboard.standings.sheets import csv_of

router = Router(tags=["standings"], auth=Caller(optional=True))


@router.get("{slug}/phases/{phase}/standings", response=shapes.answers(dict[str, Any], 401, 404))
def standings(
    request: HttpRequest, response: HttpResponse, slug: str, phase: str, shard: str = "public"
) -> dict[str, Any]:
    """Return the rows of a phase's board; bits per byte, lower is better. The private one is sealed until release."""
    _keep_no_private(response, shard)
    return board(find_phase(slug, phase), shard, caller_of(request)).to_json()


@router.get("{slug}/phases/{phase}/standings.csv")
def standings_csv(request: HttpRequest, slug: str, phase: str, shard: str = "public") -> HttpResponse:
    """Return the same rows as CSV."""
    rows = csv_of(board(find_phase(slug, phase), shard, caller_of(request)))
    answer = HttpResponse(rows, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="standings.csv"'
    _keep_no_private(answer, shard)
    return answer


def _keep_no_private(answer: HttpResponse, shard: str) -> None:
    """Have nobody on the way keep what an organizer reads before the release."""
    if shard != "public":
        add_never_cache_headers(answer)
