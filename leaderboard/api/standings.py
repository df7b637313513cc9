"""The board of a phase, as JSON and as CSV."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from leaderboard.api.auth import Caller
from leaderboard.competitions.queries import find_phase
from leaderboard.standings.queries import board
from leaderboard.standings.sheets import csv_of

router = Router(tags=["standings"], auth=Caller(optional=True))


@router.get("{slug}/phases/{phase}/standings")
def standings(request: HttpRequest, slug: str, phase: str) -> dict[str, Any]:
    """Return the rows of a phase's public board; bits per byte, lower is better."""
    return board(find_phase(slug, phase)).to_json()


@router.get("{slug}/phases/{phase}/standings.csv")
def standings_csv(request: HttpRequest, slug: str, phase: str) -> HttpResponse:
    """Return the same rows as CSV."""
    answer = HttpResponse(csv_of(board(find_phase(slug, phase))), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="standings.csv"'
    return answer
