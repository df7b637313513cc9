"""Findings as the page shows them: what, why, what to do instead, and the lines they are about."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from leaderboard.web.source import MARKUP, Line, excerpt
from leaderboard.web.wording import visible
from reviewer.rules import WRITTEN

ORDER = ("reject", "review", "warn", "info")


@dataclass(frozen=True)
class Shown:
    """One finding, ready for the template; `lines` is empty where its text is not the source's own."""

    rule: str
    name: str
    severity: str
    line: int
    what: str
    instead: str
    snippet: str
    inherited: bool
    unpacked: bool
    lines: list[Line]
    explained: bool  # whether its rule has a page


def shown(report: dict[str, Any], text: str | None) -> list[Shown]:
    """Return a report's findings, those that stop the script first; `text` None shows no line of the source."""
    findings = sorted((_shown(finding, text) for finding in report.get("findings", [])), key=_place)
    left = MARKUP  # hundreds of findings may each show the same long lines
    for at, finding in enumerate(findings):
        left -= sum(len(line.html) for line in finding.lines)
        if left < 0:
            findings[at] = replace(finding, lines=[])
    return findings


def headline(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the audit's outcome as (colour class, words): `✕ 2 findings stop this file`, `3 to know`."""
    count = Counter(finding.get("severity") for finding in report.get("findings", []))
    said = []
    if n := count["reject"]:
        said.append(("bad", f"✕ {n} finding{'s stop' if n > 1 else ' stops'} this file"))
    if n := count["review"]:
        said.append(("warn", f"? {n} for an organizer to read"))
    if n := count["warn"] + count["info"]:
        said.append(("soft", f"{n} to know"))
    return said or [("good", "✓ No finding")]


def _place(finding: Shown) -> tuple[int, int]:
    return ORDER.index(finding.severity) if finding.severity in ORDER else len(ORDER), finding.line


def _shown(finding: dict[str, Any], text: str | None) -> Shown:
    what, _, instead = str(finding.get("message", "")).partition("\n")
    line, unpacked = int(finding.get("line") or 1), finding.get("view") == "unpacked"
    lines = [] if unpacked or text is None else excerpt(text, line, int(finding.get("end_line") or line))
    return Shown(
        rule=visible(str(finding.get("rule", ""))),
        name=visible(str(finding.get("name", ""))),
        severity=str(finding.get("severity", "")),
        line=line,
        what=visible(what),
        instead=visible(instead.strip()),
        snippet=visible(str(finding.get("snippet", ""))) if text is not None else "",
        inherited=bool(finding.get("inherited")),
        unpacked=unpacked,
        lines=lines,
        explained=finding.get("rule") in WRITTEN,
    )


@dataclass(frozen=True)
class Facts:
    """What a report says beside its findings; each is empty in a report from before it was looked for."""

    knobs: str  # how many there were and are
    drift: list[tuple[str, list[str]]]  # what changed since the version before, by kind
    drifted: bool  # whether there was a version before to compare with
    sections: list[tuple[str, str, str, str]]  # colour, name, grade in words, baseline
    claims: list[tuple[int, str, list[str]]]  # line, words, rules that find otherwise


DRIFT = {
    "knobs_added": "Knobs added",
    "knobs_removed": "Knobs removed",
    "functions_added": "Functions added",
    "functions_removed": "Functions removed",
    "functions_changed": "Functions changed",
    "sections_changed": "Sections changed",
}
GRADES = {
    "byte-identical": ("good", "✓ the same bytes"),
    "ast-identical": ("good", "✓ the same code"),
    "changed": ("bad", "✕ changed"),
}


def facts(report: dict[str, Any]) -> Facts:
    """Return a report's drift, sections and claims in words."""
    drift = report.get("drift") or {}
    return Facts(
        knobs=f"{drift.get('knobs_before', 0)} → {drift.get('knobs_now', 0)}",
        drift=[(words, _names(drift[key])) for key, words in DRIFT.items() if drift.get(key)],
        drifted=bool(drift),
        sections=[_section(section) for section in report.get("sections") or []],
        claims=[
            (
                int(claim.get("line") or 1),
                visible(str(claim.get("text", ""))),
                _names(claim.get("contradicted_by") or []),
            )
            for claim in report.get("claims") or []
        ],
    )


def _names(names: list[Any]) -> list[str]:
    return [visible(str(name)) for name in names]


def _section(section: dict[str, Any]) -> tuple[str, str, str, str]:
    colour, words = GRADES.get(str(section.get("grade")), ("warn", "? not graded"))
    return colour, visible(str(section.get("name", ""))), words, visible(str(section.get("baseline", "")))
