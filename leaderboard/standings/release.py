"""Release a phase: its private board and whatever else it opens are everybody's from then on, and there is no way back.

In one transaction: the phase is marked, what was committed to is opened, and the ledger says who released what, in
which order. What is opened says no more than boards do: scores in the phase's steps, with their salts.
"""

from django.db import transaction
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.standings import commitments
from leaderboard.standings.preview import Preview, preview
from leaderboard.standings.private import RELEASED
from leaderboard.submissions.visibility import organizes


def release(phase: Phase, *, digest: str, organizer: User) -> Entry:
    """Release a phase as the preview with this digest showed it; return the ledger's entry.

    Raises Refusal not_organizer (403), not_ready (409) for what still stands against it, stale_preview (409).
    """
    if not organizes(organizer, phase.competition):
        raise Refusal("not_organizer", "Only an organizer of this competition releases its phases.", 403)
    _confirmed(phase, digest)  # what is stale or not ready is refused before anybody has to wait
    return _release(phase, digest, organizer)


@transaction.atomic
def _release(phase: Phase, digest: str, organizer: User) -> Entry:
    phase = Phase.objects.select_for_update(no_key=True, of=("self",)).select_related("competition").get(pk=phase.pk)
    # What changes a standing takes the phase's row, as uploads, withdrawals and hidden results do, or appends to the
    # ledger, as every decision does: while both are held, nothing does.
    ledger.hold()
    seen = _confirmed(phase, digest)
    commitments.commit(phase)
    Phase.objects.filter(pk=phase.pk).update(released_at=timezone.now())
    order = [row.submission for row in seen.rows]
    return ledger.append(
        kind=RELEASED,
        subject=f"phase:{phase.pk}",
        data={
            "actor": organizer.pk,
            "digest": digest,
            "order": order,
            "failed": [row.submission for row in seen.rows if row.rank is None],
            "openings": commitments.openings(order),
        },
    )


def _confirmed(phase: Phase, digest: str) -> Preview:
    """Return what a release would publish now, where it may and is what the digest confirms."""
    seen = preview(phase)
    if problems := seen.problems():
        raise Refusal("not_ready", " ".join(problems), 409)
    if digest != seen.digest:
        raise Refusal("stale_preview", "Something has changed since that preview; look at it again.", 409)
    return seen
