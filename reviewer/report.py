"""What the audit says: findings in source order, knobs, and the verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from reviewer.facts import Claim, Drift, Inner, Reached, Section
from reviewer.wording import spelled, told

RULESET = "4"  # goes up whenever a rule finds more or less than before
STANDARD = "1"  # the version of a policy that says nothing else

Severity = Literal["reject", "review", "warn", "info", "off"]
Verdict = Literal["accept", "review", "reject"]
View = Literal["source", "unpacked"]
Constant = str | int | float | bool | None

_ORDER: dict[str, int] = {"off": 0, "info": 1, "warn": 2, "review": 3, "reject": 4}


def milder(one: Severity, other: Severity) -> Severity:
    """Return the less severe of two severities."""
    return one if _ORDER[one] <= _ORDER[other] else other


@dataclass(frozen=True)
class Finding:
    """One place in the text. Lines and columns count from 1; columns are characters; the end is just behind it.

    `message` has two lines: what was found, then what to do about it. Whatever a script makes of the texts, they can
    be encoded and stored: `wording.py` spells out what cannot.
    """

    rule: str
    name: str
    severity: Severity
    line: int
    column: int
    end_line: int
    message: str
    snippet: str = ""
    fixable: bool = False
    view: View = "source"
    inherited: bool = False
    end_column: int = 1

    def __post_init__(self) -> None:
        lines = self.message.split("\n", 1)
        object.__setattr__(self, "message", "\n".join(told(line) for line in lines))
        object.__setattr__(self, "snippet", spelled(self.snippet))
        if self.end_line == self.line and self.end_column < self.column:  # a place without an extent, as the gate's
            object.__setattr__(self, "end_column", self.column)


@dataclass(frozen=True)
class Knob:
    """A setting that can be given from outside: its key, its default, and the value it will have on the platform."""

    rule: str
    line: int
    key: str
    default: Constant
    value: Constant

    def __post_init__(self) -> None:
        for name in ("key", "default", "value"):
            object.__setattr__(self, name, _storable(getattr(self, name)))


def _storable(value: Constant) -> Constant:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for these, and a database refuses ours
    return spelled(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Report:
    """The outcome of one audit of one text under one Policy."""

    verdict: Verdict
    ruleset: str
    policy: str  # the version of the Policy
    script_sha256: str
    packed: bool
    findings: tuple[Finding, ...]
    knobs: tuple[Knob, ...]
    drift: Drift | None = None
    sections: tuple[Section, ...] = ()
    claims: tuple[Claim, ...] = ()
    unpacked: tuple[Inner, ...] = ()
    calls: tuple[Reached, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        script_sha256: str,
        findings: Iterable[Finding],
        knobs: Iterable[Knob] = (),
        packed: bool = False,
        policy: str = STANDARD,
        **facts: Any,
    ) -> Report:
        """Put findings in source order and draw the verdict from the most severe one."""
        ordered = tuple(sorted((f for f in findings if f.severity != "off"), key=lambda f: (f.line, f.column, f.rule)))
        worst = max((_ORDER[f.severity] for f in ordered), default=0)
        verdict: Verdict = "reject" if worst == 4 else "review" if worst == 3 else "accept"
        settings = tuple(sorted(knobs, key=lambda k: (k.line, k.key)))
        return cls(verdict, RULESET, policy, script_sha256, packed, ordered, settings, **facts)

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts and lists, ready for `json.dumps`; `report.schema.json` says what they hold."""
        return cast(dict[str, Any], _plain(asdict(self)))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """Rebuild a report from `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        if set(data) != {f.name for f in fields(cls)}:
            raise ValueError("not a report")
        findings = tuple(Finding(**f) for f in data["findings"])
        if data["verdict"] not in ("accept", "review", "reject") or any(f.severity not in _ORDER for f in findings):
            raise ValueError("not a verdict")
        return cls(
            verdict=cast(Verdict, data["verdict"]),
            ruleset=str(data["ruleset"]),
            policy=str(data["policy"]),
            script_sha256=str(data["script_sha256"]),
            packed=bool(data["packed"]),
            findings=findings,
            knobs=tuple(Knob(**k) for k in data["knobs"]),
            drift=None if data["drift"] is None else Drift(**{k: _hashable(v) for k, v in data["drift"].items()}),
            sections=tuple(Section(**one) for one in data["sections"]),
            claims=tuple(Claim(**{k: _hashable(v) for k, v in one.items()}) for one in data["claims"]),
            unpacked=tuple(Inner(**one) for one in data["unpacked"]),
            calls=tuple(Reached(**one) for one in data["calls"]),
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
