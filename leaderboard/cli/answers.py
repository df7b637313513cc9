"""The server's answers as values, checked on arrival: what is missing or of another kind is a BadAnswer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from leaderboard.cli.errors import BadAnswer

T = TypeVar("T")
JSON = dict[str, Any]


def need(table: Any, key: str, kind: type[T]) -> T:
    """Return `table[key]`, which must be there and of that kind. Raises BadAnswer naming the key."""
    value = table.get(key) if isinstance(table, Mapping) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BadAnswer(f"The server's answer makes no sense here: `{key}` is missing or not what it should be.")
    return value


def maybe(table: Any, key: str, kind: type[T]) -> T | None:
    """Return `table[key]` or None where it is absent or null. Raises BadAnswer for another kind."""
    if isinstance(table, Mapping) and table.get(key) is None:
        return None
    return need(table, key, kind)


def number(table: Any, key: str) -> float | None:
    """Return a number or None. Raises BadAnswer."""
    value = table.get(key) if isinstance(table, Mapping) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadAnswer(f"The server's answer makes no sense here: `{key}` is not a number.")
    return value


def rows(table: Any, key: str) -> list[JSON]:
    """Return a list of objects. Raises BadAnswer."""
    found = need(table, key, list)
    if not all(isinstance(row, dict) for row in found):
        raise BadAnswer(f"The server's answer makes no sense here: `{key}` holds something that is no object.")
    return found


@dataclass(frozen=True)
class LogPiece:
    """Text of a run's log up to byte `next`; `attempt` counts from 1, 0 before the first has begun.

    `missing` is how many bytes at the end never reached the site.
    """

    text: str
    next: int
    final: bool
    attempt: int
    missing: int = 0

    @classmethod
    def read(cls, answer: Any) -> LogPiece:
        """Read one from the API's JSON. Raises BadAnswer."""
        return cls(
            text=need(answer, "text", str),
            next=need(answer, "next", int),
            final=need(answer, "final", bool),
            attempt=need(answer, "attempt", int),
            missing=maybe(answer, "missing", int) or 0,
        )


@dataclass(frozen=True)
class Submission:
    """What the CLI shows of a submission; `reason` is (code, sentence)."""

    id: int
    version: int | None
    state: str
    competition: str
    phase: str
    reason: tuple[str, str] | None
    report: JSON | None
    runs: list[JSON]
    standing: JSON | None
    private: JSON | None  # its row of the private board, where the reader may see it
    probes: list[JSON]  # how each run was probed on the public shard
    quota: JSON | None
    url: str

    @classmethod
    def read(cls, answer: Any) -> Submission:
        """Read one from the API's JSON. Raises BadAnswer."""
        reason = maybe(answer, "reason", dict)
        report = maybe(answer, "report", dict)
        if report is not None:
            need(report, "verdict", str)
            rows(report, "findings")
        standing = maybe(answer, "standing", dict)
        if standing is not None:
            need(standing, "rank", int)
            for key in ("bpb", "ci_low", "ci_high"):
                number(standing, key)
        return cls(
            id=need(answer, "id", int),
            version=maybe(answer, "version", int),
            state=need(answer, "state", str),
            competition=maybe(answer, "competition", str) or "",
            phase=maybe(answer, "phase", str) or "",
            reason=(need(reason, "code", str), need(reason, "message", str)) if reason else None,
            report=report,
            runs=rows(answer, "runs") if isinstance(answer, dict) and answer.get("runs") is not None else [],
            standing=standing,
            private=maybe(answer, "private", dict),
            probes=rows(answer, "probes") if isinstance(answer, dict) and answer.get("probes") is not None else [],
            quota=maybe(answer, "quota", dict),
            url=maybe(answer, "url", str) or "",
        )
