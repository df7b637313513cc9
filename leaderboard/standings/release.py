"""Release a phase: its private board and whatever else it opens are everybody's from then on, and there is no way back.

In one transaction: the phase is marked, what was committed to is opened, and the ledger says who released what.
"""

from django.db import transaction
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.standings import commitments
from leaderboard.standings.preview import preview
from leaderboard.submissions.visibility import organizes


@transaction.atomic
def release(phase: Phase, *, digest: str, organizer: User) -> Entry:
    """Release a phase as the preview with this digest showed it; return the ledger's entry.

    Raises Refusal not_organizer (403), not_ready (409) for what still stands against it, stale_preview (409).
    """
    phase = Phase.objects.select_for_update(no_key=True, of=("self",)).select_related("competition").get(pk=phase.pk)
    if not organizes(organizer, phase.competition):
        raise Refusal("not_organizer", "Only an organizer of this competition releases its phases.", 403)
    # Whatever changes a standing appends to the ledger: while its head is held, nothing does.
    ledger.hold()
    seen = preview(phase)
    if problems := seen.problems():
        raise Refusal("not_ready", " ".join(problems), 409)
    if digest != seen.digest:
        raise Refusal("stale_preview", "Something has changed since that preview; look at it again.", 409)
    commitments.commit(phase)
    Phase.objects.filter(pk=phase.pk).update(released_at=timezone.now())
    order = [row.submission for row in seen.rows]
    return ledger.append(
        kind="phase.released",
        subject=f"phase:{phase.pk}",
        data={
            "actor": organizer.pk,
            "digest": digest,
            "order": order,
            "failed": [row.submission for row in seen.rows if row.rank is None],
            "openings": commitments.openings(order),
        },
    )
