"""The first page: what is open, how long, and where to begin."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.competitions.models import Competition
from leaderboard.web.views.shell import current


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """List the competitions, those with an open phase first."""
    cards = []
    for competition in Competition.objects.prefetch_related("phases").order_by("title"):
        phases = list(competition.phases.all())
        cards.append({"competition": competition, "phases": phases, "phase": current(phases)})
    cards.sort(key=lambda card: not any(phase.state() == "open" for phase in card["phases"]))  # type: ignore[attr-defined]
    return render(request, "web/home.html", {"cards": cards})
