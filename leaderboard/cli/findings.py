"""The audit's findings as lines: `file:line:col CODE sentence`, then one line of what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaderboard.cli.words import one_line

_STOPS = {"reject": "stops it", "review": "a person must look", "warn": "to know"}


def finding_lines(report: dict[str, Any], file: str) -> Iterator[str]:
    """Yield the lines of a report; findings that are only information are counted, not listed."""
    findings = [finding for finding in report.get("findings", []) if finding.get("severity") != "off"]
    for finding in findings:
        if finding.get("severity") != "info":
            yield from _lines(finding, file)
    if findings:
        yield _summary(findings)


def _lines(finding: dict[str, Any], file: str) -> Iterator[str]:
    where = f"{file}(unpacked)" if finding.get("view") == "unpacked" else file
    place = f"{where}:{finding.get('line') or 1}:{finding.get('column') or 1}"
    said, _, remedy = str(finding.get("message") or finding.get("name") or "").partition("\n")
    yield one_line(f"{place} {finding.get('rule', '?')} {said}")
    if remedy:
        yield f"    {one_line(remedy)}"


def _summary(findings: list[dict[str, Any]]) -> str:
    count = {severity: sum(f.get("severity") == severity for f in findings) for severity in (*_STOPS, "info")}
    parts = []
    if count["reject"]:
        parts.append(f"{count['reject']} stop{'s' if count['reject'] == 1 else ''} this file")
    if count["review"]:
        parts.append(f"{count['review']} must be looked at by a person")
    if count["warn"] + count["info"]:
        parts.append(f"{count['warn'] + count['info']} to know")
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}: {', '.join(parts)}."
