"""What a verified scoring receipt brings: the numbers of a Score, and a reference where it was to make one."""

from typing import Any

from django.db import transaction

from leaderboard.runs.models import Attempt, Reference
from leaderboard.runs.probes import published


def score_fields(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a verified scoring receipt says, as fields of a Score.

    One from before there were probes publishes what was scored.
    """
    score, probes = body["score"], body.get("probes")
    correction, se = score.get("correction"), score.get("correction_se")
    return {
        **{key: score[key] for key in ("total_nats", "num_bytes", "num_tokens", "bpb")},
        "published_bpb": score.get("published_bpb", published(score["bpb"], correction, se)),
        "correction": correction,
        "correction_se": se,
        "power": probes["power"] if probes else None,
        "drawn_evenly": probes["reference_sha256"] is None if probes else None,
    }


@transaction.atomic
def keep_reference(attempt: Attempt) -> None:
    """Keep the reference that a scoring attempt made; the first one of a phase and shard stays."""
    made = attempt.receipt.body.get("reference")
    if made:
        Reference.objects.get_or_create(
            phase=attempt.run.submission.phase,
            shard=attempt.shard,
            defaults={"sha256": made["sha256"], "attempt": attempt},
        )
