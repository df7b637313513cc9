"""Reads of competitions: a phase by its names, and what a release still has to wait for."""

from django.db.models import Q, QuerySet

from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal


def open_phase(competition_slug: str, phase_slug: str, *, lock: bool = False) -> Phase:
    """Return a phase that takes submissions now; `lock` holds its row until the caller's transaction ends.

    Raises Refusal unknown_phase (404), phase_upcoming or phase_closed (409).
    """
    phase = find_phase(competition_slug, phase_slug, lock=lock)
    state = phase.state()
    if state == "upcoming":
        raise Refusal("phase_upcoming", f"Phase {phase.slug} opens on {phase.opens:%Y-%m-%d at %H:%M} UTC.", 409)
    if state == "closed":
        raise Refusal("phase_closed", f"Phase {phase.slug} closed on {phase.closes:%Y-%m-%d at %H:%M} UTC.", 409)
    return phase


def find_phase(competition_slug: str, phase_slug: str, *, lock: bool = False) -> Phase:
    """Return a phase by its names. Raises Refusal unknown_phase (404), which lists the phases there are."""
    phases = Phase.objects.filter(competition__slug=competition_slug)
    # A lock of the phase alone: whoever loads the competition's file holds its row before the phases'. The competition
    # is read after it; rows that refer to a phase may be added.
    locked = phases.select_for_update(no_key=True, of=("self",))
    wanted = locked if lock else phases.select_related("competition")
    found = wanted.filter(slug=phase_slug).first()
    if found is not None:
        return found
    known = ", ".join(phases.values_list("slug", flat=True))
    if not known:
        raise Refusal("unknown_phase", f"There is no competition called {competition_slug[:60]!r}.", 404)
    raise Refusal("unknown_phase", f"{competition_slug} has no phase called {phase_slug[:60]!r}, only: {known}.", 404)


def require_unreleased(phase_id: int, sentence: str) -> None:
    """Hold a phase's row until the caller's transaction ends, so that it is not released meanwhile; first of all locks.

    Raises Refusal released (409) with the sentence.
    """
    phase = Phase.objects.select_for_update(no_key=True).get(pk=phase_id)
    if phase.released_at is not None:
        raise Refusal("released", f"Phase {phase.slug} is released: {sentence}", 409)


def still_sealing(phase: Phase) -> QuerySet[Phase]:
    """Return the other phases, of whatever competition, that score on the shards of this one and are not released."""
    manifest, same = phase.competition.shards.manifest, Q()
    for target in ("public", "private"):
        same |= Q(**{f"competition__shards__manifest__{target}__commitment": manifest[target]["commitment"]})
    others = Phase.objects.filter(same, released_at=None).exclude(pk=phase.pk)
    return others.select_related("competition").order_by("opens", "pk")


def shards_are_open(phase: Phase) -> bool:
    """Return whether exact numbers of a phase's shards may be read: no phase to come can be chased with them."""
    return phase.released_at is not None and not still_sealing(phase).exists()
