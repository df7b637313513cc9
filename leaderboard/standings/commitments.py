"""Private scores go to the ledger sealed, and are opened at the release.

    commitment = SHA-256 of canonical {"run", "code", "bpb", "receipt_sha256", "salt"}     bpb as boards show it

The salt, 256 random bits, is in the database alone until then, so that nobody can try values. The receipt's hash binds
the score to the last digit.
"""

import hashlib
import secrets
from typing import Any

from django.db import transaction

from leaderboard.competitions.models import Phase
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.runs.models import HiddenResult, Score
from leaderboard.standings.rows import rounded
from scoring.chain import canonical

SHARD = "private"


def commitment_of(opening: dict[str, Any]) -> str:
    """Return the hash of an opened value with its salt."""
    return hashlib.sha256(canonical(opening)).hexdigest()


@transaction.atomic
def commit(phase: Phase) -> Entry | None:
    """Commit to all private results of a phase that are not committed to yet, in one entry; None for none."""
    Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)  # of two reapers the second finds nothing left
    found = HiddenResult.objects.filter(run__submission__phase=phase, shard=SHARD, entry=None)
    fresh = list(found.select_related("attempt__receipt").order_by("run"))
    if not fresh:
        return None
    scores = dict(
        Score.objects.filter(shard=SHARD, run__in=[row.run_id for row in fresh]).values_list("run", "published_bpb")
    )
    for row in fresh:
        score = scores.get(row.run_id)
        row.salt = secrets.token_hex(32)
        row.value = {
            "run": row.run_id,
            "code": row.code,
            "bpb": None if score is None else rounded(score, phase.rules.rounding),
            "receipt_sha256": row.attempt.receipt.sha256,
        }
        row.commitment = commitment_of(opening_of(row))
    data = {"commitments": {str(row.run_id): row.commitment for row in fresh}}
    entry = ledger.append(kind="private.committed", subject=f"phase:{phase.pk}", data=data)
    for row in fresh:
        row.entry = entry.seq
    HiddenResult.objects.bulk_update(fresh, ["value", "salt", "commitment", "entry"])
    return entry


def opening_of(row: HiddenResult) -> dict[str, Any]:
    """Return the value of a committed result with its salt."""
    return {**row.value, "salt": row.salt}


def openings(submissions: list[int]) -> list[dict[str, Any]]:
    """Return the opened private results of these versions' runs."""
    rows = HiddenResult.objects.filter(run__submission__in=submissions, shard=SHARD).exclude(entry=None)
    return [opening_of(row) for row in rows.order_by("run")]
