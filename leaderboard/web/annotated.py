"""A script with what the audit said, each finding under its line."""

from typing import Any

from leaderboard.submissions.models import Submission
from leaderboard.web import findings
from leaderboard.web.source import Line, decode, lines


def annotated(submission: Submission, report: dict[str, Any] | None, *, most: int | None = None) -> dict[str, Any]:
    """Return the script's first `most` lines with the findings under theirs, and apart those about unpacked text."""
    text = decode(submission.script)
    found = findings.shown(report, text) if report else []
    under: dict[int, list[findings.Shown]] = {}
    for finding in found:
        if not finding.unpacked:
            under.setdefault(finding.line, []).append(finding)
    every = lines(text)
    rows = [(Line(n, html, n in under), under.get(n, [])) for n, html in enumerate(every[:most], 1)]
    return {
        "rows": rows,
        "cut": len(every) - len(rows),
        "findings": found,
        "unpacked": [finding for finding in found if finding.unpacked],
        "headline": findings.headline(report) if report else [],
    }
