"""Reads of runs: how far each is, its receipts, and the training log as text in pieces."""

from typing import Any

from django.db.models import QuerySet

from leaderboard.core.storage import read_log
from leaderboard.runs.models import Attempt, Receipt, Run
from leaderboard.runs.probes import BREACH, KINDS
from leaderboard.submissions.models import Event, Submission
from leaderboard.submissions.queries import is_over
from leaderboard.submissions.visibility import Access

TRAIN = Attempt.Kind.TRAIN
PIECE_BYTES = 64 * 1024


def runs_json(submission: Submission, *, with_seed: bool) -> list[dict[str, Any]]:
    """Return how far each run of a submission is."""
    budget = submission.phase.rules.budget
    return [
        {
            "index": run.index,
            "state": run.state,
            "step": run.step,
            "charged_seconds": run.charged_seconds,
            "budget_seconds": budget.seconds,
            "startup_seconds": run.startup_seconds,
            "startup_cap_seconds": budget.startup_cap_seconds,
            **({"seed": str(run.seed)} if with_seed else {}),  # text: JSON numbers lose bits beyond 2**53
        }
        for run in Run.objects.filter(submission=submission)
    ]


def attempts_shown(submission: Submission, access: Access) -> QuerySet[Attempt]:
    """Return the attempts that hosts have begun, in order, as far as the viewer may know that they exist.

    Of the private shard there is nothing before the release, not even that it was scored.
    """
    begun = Attempt.objects.filter(run__submission=submission) if access.receipt else Attempt.objects.none()
    if submission.phase.released_at is None:
        begun = begun.filter(hidden=False)
    return begun.exclude(leased_at=None).select_related("run", "agent").order_by("pk")


def reads_body(attempt: Attempt, access: Access) -> bool:
    """Return whether the viewer may read the whole receipt of an attempt that they may know of.

    One of a scoring says a score to the last digit, and what the model server used while it saw sealed rows: each is a
    way to carry them out, for whoever is still to be scored on the same shard.
    """
    return access.seed and (attempt.kind == TRAIN or access.exact)


def receipts_json(submission: Submission, access: Access) -> list[dict[str, Any]]:
    """Return the receipts of a submission's attempts in order, with what it takes to check their signatures.

    A receipt cannot be shown in part, since its signature is of the whole. So the body is None where it says what the
    viewer may not know.
    """
    rows = Receipt.objects.filter(attempt__in=attempts_shown(submission, access))
    return [
        {
            "run": row.attempt.run.index,
            "attempt": row.attempt.number,
            "kind": row.attempt.kind,
            "shard": row.attempt.shard or None,
            "sha256": row.sha256,
            "body": row.body if reads_body(row.attempt, access) else None,
            "signature": row.signature,
            "public_key": row.attempt.public_key,
        }
        for row in rows.select_related("attempt__run").order_by("attempt")
    ]


def probes_json(submission: Submission, access: Access) -> list[dict[str, Any]]:
    """Return how each run was probed on the public shard, for its team: power, how much was asked, and the verdict.

    Places, sizes and probabilities are evidence, and with nats they could carry out what the shard holds.
    """
    if not access.inside:
        return []
    scored = Receipt.objects.filter(
        attempt__run__submission=submission,
        attempt__kind=Attempt.Kind.SCORE,
        attempt__hidden=False,
        attempt__cause__in=("ok", BREACH),
    )
    return [
        {
            "run": row.attempt.run.index,
            "power": probes["power"],
            "drawn": "by reference" if probes["reference_sha256"] else "evenly",
            "asked": {kind: probes[kind]["asked"] for kind in KINDS},
            "verdict": "breach" if row.attempt.cause == BREACH else "clean",
        }
        for row in scored.select_related("attempt__run").order_by("attempt")
        if (probes := row.body.get("probes"))
    ]


def samples(attempt: Attempt) -> list[tuple[float, float, int, int]]:
    """Return what a training attempt that goes on has used so far, as far as the platform has kept it.

    Each is (seconds since the lease, CPU seconds, bytes, processes), the shape of a receipt's series.
    """
    told = Event.objects.filter(
        submission=attempt.run.submission_id,
        kind="progress",
        data__run=attempt.run.index,
        data__attempt=attempt.number,
    )
    since = attempt.leased_at
    if attempt.kind != TRAIN or since is None:
        return []
    return [
        ((at - since).total_seconds(), data["cpu_seconds"], data["memory_bytes"], data["processes"])
        for at, data in told.values_list("at", "data")
        if at >= since and None not in (data["cpu_seconds"], data["memory_bytes"], data["processes"])
    ]


def newest_training(submission: Submission, index: int) -> Attempt | None:
    """Return the newest training attempt of a run that a host has begun."""
    begun = Attempt.objects.filter(run__submission=submission, run__index=index, kind=TRAIN)
    return begun.exclude(leased_at=None).order_by("-number").first()


def log_json(submission: Submission, *, offset: int = 0, index: int = 0, limit: int = PIECE_BYTES) -> dict[str, Any]:
    """Return the log's text from byte `offset` on, where to go on, and whether that is all there will be.

    A repeated run starts a new log: `attempt` says whose it is. Characters that are cut by the end wait for the rest.
    `missing` is how many bytes at the end never came here, though the receipt knows of them.
    """
    attempt = newest_training(submission, index)
    if attempt is None:
        return {"offset": 0, "next": 0, "text": "", "final": is_over(submission), "attempt": 0, "missing": 0}
    data, size = read_log(attempt.pk, offset, limit)
    ended = attempt.ended_at is not None
    offset = min(max(offset, 0), size)
    if not ended or offset + len(data) < size:
        data = data[: len(data) - _cut_bytes(data)]
    following = offset + len(data)
    return {
        "offset": offset,
        "next": following,
        "text": data.decode("utf-8", "replace"),
        "final": ended and following >= size,
        "attempt": attempt.number,
        "missing": _missing(attempt, size) if ended else 0,
    }


def _missing(attempt: Attempt, size: int) -> int:
    receipt = Receipt.objects.filter(attempt=attempt).first()
    written = receipt.body.get("log", {}).get("bytes") if receipt else None
    return max(written - size, 0) if isinstance(written, int) else 0


def _cut_bytes(data: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character that is not complete."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < needed else 0
    return 0
