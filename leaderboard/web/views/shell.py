"""What the pages of one competition share: the competition, its phases, the reader's team."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from leaderboard.accounts.models import User
from leaderboard.accounts.services import team_of
from leaderboard.competitions.models import Competition, Phase


def reader(request: HttpRequest) -> User | None:
    """Return who asks, None for a stranger."""
    return request.user if isinstance(request.user, User) else None


def member(request: HttpRequest) -> User:
    """Return who is logged in, for views that let nobody else in. Raises PermissionDenied."""
    who = reader(request)
    if who is None:
        raise PermissionDenied("not logged in")
    return who


def find_competition(slug: str) -> Competition:
    """Return the competition of an address. Raises Http404."""
    return get_object_or_404(Competition.objects.select_related("kit", "shards"), slug=slug)


def shell(request: HttpRequest, competition: Competition, tab: str, phase_slug: str | None = None) -> dict[str, Any]:
    """Return the context of a competition's page; `phase` is the one asked for, else the one to submit to.

    Raises Http404 for a phase that does not exist.
    """
    phases = list(competition.phases.all())
    for each in phases:
        each.competition = competition  # templates ask for it: no query per phase
    phase = next((each for each in phases if each.slug == phase_slug), None)
    if phase_slug is not None and phase is None:
        raise Http404("no such phase")
    who = reader(request)
    return {
        "competition": competition,
        "phases": phases,
        "phase": phase or current(phases),
        "tab": tab,
        "team": team_of(who, competition) if who else None,
    }


def current(phases: list[Phase]) -> Phase | None:
    """Return the phase that is open, else the next to open, else the last."""
    for state in ("open", "upcoming"):
        found = next((phase for phase in phases if phase.state() == state), None)
        if found:
            return found
    return phases[-1] if phases else None
