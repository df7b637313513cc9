"""A script with what the audit said, each finding under its line."""

from typing import Any

from leaderboard.submissions.models import Report, Submission
from leaderboard.web import findings
from leaderboard.web.source import Line, decode, lines

LINES = 6_000  # of a script on the review page; its own page has all


def annotated(submission: Submission, report: Report | None) -> dict[str, Any]:
    """Return the script's lines with the findings under theirs, and apart those about text that was unpacked."""
    text = decode(submission.script)
    found = findings.shown(report.body, text) if report else []
    under: dict[int, list[findings.Shown]] = {}
    for finding in found:
        if not finding.unpacked:
            under.setdefault(finding.line, []).append(finding)
    every = lines(text)
    return {
        "rows": [(Line(n, html, n in under), under.get(n, [])) for n, html in enumerate(every[:LINES], 1)],
        "cut": max(len(every) - LINES, 0),
        "findings": found,
        "unpacked": [finding for finding in found if finding.unpacked],
        "headline": findings.headline(report.body) if report else [],
    }
