"""Receipts in words: what a person asks of an attempt, in the order in which they ask it.

Of a receipt the platform has checked the signature and what decides a standing; everything else is the host's word, so
each field is read here by its kind and length, and what does not fit is said to be missing.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leaderboard.runs.models import Receipt
from leaderboard.web.wording import duration, percent, size, visible
from scoring import receipt as receipts

Pair = tuple[str, str, bool]  # what it is, what it says, whether it is a hash or code
LONGEST = 300  # characters of a text that a host wrote


class Body:
    """A receipt's body, read by path; what is not of the kind asked for is None."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    def number(self, path: str) -> float | None:
        found = self._find(path)
        kind = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e15
        return float(found) if kind else None

    def text(self, path: str) -> str:
        found = self._find(path)
        return visible(found[:LONGEST]) if isinstance(found, str) else ""

    def items(self, path: str) -> list[Any]:
        found = self._find(path)
        return found if isinstance(found, list) else []

    def table(self, path: str) -> "Body | None":
        found = self._find(path)
        return Body(found) if isinstance(found, dict) else None

    def _find(self, path: str) -> Any:
        found: Any = self._body
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found


@dataclass(frozen=True)
class Seal:
    """Whether a stored receipt is the one that its host signed."""

    holds: bool
    sentence: str


def verify(receipt: Receipt) -> Seal:
    """Check the signature of a stored receipt again, now, against the key registered before its sandbox started."""
    try:
        receipts.verify(receipt.body, receipt.signature, receipt.attempt.public_key)
    except (receipts.BadSignature, ValueError, TypeError):
        return Seal(False, "the signature does not hold; this receipt is not the one that its host signed")
    return Seal(True, "verified just now with the key that the host had registered before the run")


def clock(body: Body) -> list[Pair]:
    """Say when it began, when it was warm, and what of it was charged."""
    started, warm = body.text("clock.started_at"), body.number("clock.tN")
    budget, excluded = body.number("clock.budget"), body.number("clock.excluded_steps")
    found = [("t0, process start", _moment(started), False)]
    if body.text("kind") == "train":
        steps = f"{excluded:.0f} excluded steps" if excluded is not None else "the excluded steps"
        never = f"never came: {steps} were not made, so nothing is startup"
        cap = duration(body.number("clock.startup_cap"))
        found += [
            ("tN, end of startup", never if warm is None else f"{_seconds(warm)} after t0, with {steps} made", False),
            ("Startup", f"{_seconds(body.number('clock.startup'))} of at most {cap}, not charged", False),
            ("Charged", f"{_seconds(body.number('clock.charged'))} of {duration(budget)}", False),
        ]
    return [*found, ("End", f"{_seconds(body.number('clock.end'))} after t0", False)]


def use(body: Body, memory_cap: float | None) -> list[Pair]:
    """Say what it did and used."""
    found: list[Pair] = []
    steps, median = body.number("steps.count"), body.number("steps.median_seconds")
    if steps is not None:
        pace = f", {_milliseconds(median)} each in the median" if median is not None else ""
        found.append(("Steps", f"{steps:,.0f}{pace}", False))
    spent, cpus = body.number("resources.cpu_seconds"), body.number("device.count")
    if spent is not None:
        found.append(("CPU time", f"{_seconds(spent)}" + (f" on {_many(cpus, 'leased CPU')}" if cpus else ""), False))
    peak = body.number("resources.peak_memory_bytes")
    if peak is not None:
        found.append(("Peak memory", f"{size(peak)} of {size(memory_cap)}", False))
    if (processes := body.number("resources.peak_processes")) is not None:
        found.append(("Peak processes and threads", f"{processes:,.0f}", False))
    if (output := body.number("output.bytes")) is not None:
        found.append(("Output", f"{size(output)} in {_many(body.number('output.files') or 0, 'file')}", False))
    if (lost := body.number("contention.lost_share")) is not None:
        least = body.number("contention.minimum_lease_share")
        promise = f"; {percent(least)} are promised" if least is not None else ""
        found.append(("Lease", f"{percent(1 - lost)} of it was there to be used{promise}", False))
    return found


def place(body: Body) -> list[Pair]:
    """Say where and under what it ran."""
    found = [("Isolation", body.text("isolation.level") or "not known", False)]
    if model := body.text("device.model"):
        found.append(("Device", f"{body.number('device.count') or 1:.0f} × {model}", False))
    versions = [(name, body.text(f"host.{name}")) for name in ("python", "torch", "kernel")]
    if any(version for _, version in versions):
        found.append(("Versions", ", ".join(f"{name} {version}" for name, version in versions if version), False))
    return found


def hashes(body: Body) -> list[Pair]:
    """Return the hashes that tie it to what was sent and what came out."""
    named = (
        ("Script", "script_sha256"),
        ("Kit", "kit_sha256"),
        ("Checkpoint", "checkpoint_sha256"),
        ("Log", "log.sha256"),
        ("Isolation settings", "isolation.settings_sha256"),
        ("Shard commitment", "shards.commitment"),
    )
    return [(name, text, True) for name, path in named if (text := body.text(path))]


def _seconds(value: float | None) -> str:
    """Return seconds with what a receipt keeps of them: to the hundredth below a minute."""
    return f"{value:.2f} s" if value is not None and value < 60 else duration(value)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.1f} ms" if seconds >= 1e-4 else "less than 0.1 ms"


def _many(count: float, what: str) -> str:
    return f"{count:,.0f} {what}" + ("" if count == 1 else "s")


def _moment(text: str) -> str:
    """Return a host's ISO time as the pages write times; as it stands where it is none."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return text or "not known"
