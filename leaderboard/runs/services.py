"""What hosts tell of an attempt: progress, log, and the end; and the message that offers one to them."""

from typing import Annotated, Any

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from leaderboard.core.errors import Refusal
from leaderboard.core.outbox import send, send_after_commit
from leaderboard.core.storage import append_log
from leaderboard.runs import leases, receipts, transitions
from leaderboard.runs.jobs import MEGABYTE
from leaderboard.runs.models import Attempt, Run
from leaderboard.submissions.models import FINAL, Event, State

Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
FAULT_CHARACTERS = 500


class HostEvent(BaseModel):
    """One line of a runner; kinds and fields that are not for the platform are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    event: str
    step: Count | None = None
    charged: Seconds | None = None
    seconds: Seconds | None = None
    cpu_seconds: Seconds | None = None
    memory_bytes: Count | None = None
    processes: Count | None = None


def offer(attempt: Attempt) -> bool:
    """Send the message that offers a waiting attempt to the agents of its hardware; return whether it was sent."""
    hardware = attempt.run.submission.phase.rules.hardware
    if not send("agent.execute", attempt.pk, queue=f"hw.{hardware}"):
        return False
    Attempt.objects.filter(pk=attempt.pk).update(sent_at=timezone.now())
    return True


def report(attempt: Attempt, events: list[HostEvent]) -> bool:
    """Take in what a run did since the last call, renew its lease, and return whether it is no longer wanted.

    Raises Refusal attempt_over (410).
    """
    leases.require_live(attempt)
    if not leases.renew(attempt):
        raise Refusal("attempt_over", "This attempt was given to somebody else.", 410)
    if attempt.kind == Attempt.Kind.TRAIN:  # what a model server uses while it sees sealed rows is not for the page
        facts, sample = _facts(events), _sample(events)
        if facts:
            Run.objects.filter(pk=attempt.run_id, state=Run.State.RUNNING).update(**facts)
        if facts or sample:
            _show_progress(attempt, {**facts, **({"attempt": attempt.number, **sample} if sample else {})})
    if attempt.hidden:
        return not leases.wanted(attempt)
    return State(attempt.run.submission.state) in FINAL


def take_log(attempt: Attempt, offset: int, data: bytes) -> tuple[bool, int]:
    """Append to the training log, up to the phase's cap; return whether it fitted on, and the size in bytes."""
    leases.require_live(attempt)
    return append_log(attempt.pk, offset, data, attempt.run.submission.phase.rules.limits.log_mb * MEGABYTE)


def finish(attempt: Attempt, *, receipt: dict[str, Any], signature: str) -> None:
    """Store the receipt of an attempt and let the pipeline go on from it.

    The same receipt again changes nothing. Raises Refusal other_receipt (409), attempt_over (410), bad_receipt (400).
    """
    if attempt.state == Attempt.State.FINISHED:
        if attempt.receipt.body == receipt and attempt.receipt.signature == signature:
            return
        raise Refusal("other_receipt", "This attempt has ended with another receipt.", 409)
    leases.require_live(attempt)
    receipts.check(attempt, receipt, signature)
    if not transitions.finish(attempt, body=receipt, signature=signature):
        raise Refusal("attempt_over", "This attempt was taken away meanwhile.", 410)
    send_after_commit("pipeline.settle", attempt.pk)


def give_up(attempt: Attempt, fault: str, cause: str = "host_fault") -> None:
    """Take an attempt back from a host that could not carry it out. Raises Refusal attempt_over (410).

    `fault` is for organizers; the team reads the sentence of the outcome `cause`.
    """
    if attempt.state == Attempt.State.LOST:
        return
    leases.require_live(attempt)
    if not transitions.lose(attempt, cause=cause, detail=fault[:FAULT_CHARACTERS]):
        raise Refusal("attempt_over", "This attempt was taken away meanwhile.", 410)
    send_after_commit("pipeline.settle", attempt.pk)


def _facts(events: list[HostEvent]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for event in events:
        if event.event == "step" and event.step is not None:
            facts["step"] = event.step
            if event.charged is not None:
                facts["charged_seconds"] = event.charged
        elif event.event == "startup" and event.seconds is not None:
            facts["startup_seconds"] = event.seconds
    return facts


def _sample(events: list[HostEvent]) -> dict[str, Any]:
    """Return what the run used at its last look: CPU seconds since its start, bytes and processes held now."""
    samples = [event for event in events if event.event == "sample"]
    return samples[-1].model_dump(include={"cpu_seconds", "memory_bytes", "processes"}) if samples else {}


def _show_progress(attempt: Attempt, facts: dict[str, Any]) -> None:
    """Write a progress Event, some sixty over a run's whole budget and at most one a second: history, not telemetry.

    Every Event is written under its submission's row lock: else this one could be seen before another that drew its
    id first and waits for the ledger, and who asks for what came after this one would never be told of that.
    """
    grain = max(1.0, attempt.run.submission.phase.rules.budget.seconds / 60)
    told = Event.objects.filter(submission=attempt.run.submission_id, kind="progress", data__run=attempt.run.index)
    last, now = told.order_by("-id").first(), timezone.now()
    if last and 0 <= (now - last.at).total_seconds() < grain:  # a clock put back makes no silence
        return
    with transitions.locked(attempt.run.submission_id) as submission:
        Event.objects.create(
            submission=submission,
            at=now,
            kind="progress",
            state=submission.state,
            data={"run": attempt.run.index, **facts},
        )
