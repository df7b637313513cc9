"""A script with what the audit said, each finding under its line.

Scripts may have a quarter of a million lines. Of a very long one the first are shown, and each with a finding.
"""

from typing import Any

from leaderboard.submissions.models import Submission
from leaderboard.web import findings
from leaderboard.web.source import Line, decode, fitting, lines

LINES = 4_000  # shown at most; the script as a file has all


def annotated(submission: Submission, report: dict[str, Any] | None) -> dict[str, Any]:
    """Return the script's lines with the findings under theirs, and apart those about unpacked text.

    `cut` is how many of its `count` lines are not among the `rows`.
    """
    text = decode(submission.script)
    found = findings.shown(report, text) if report else []
    under: dict[int, list[findings.Shown]] = {}
    for finding in found:
        if not finding.unpacked:
            under.setdefault(finding.line, []).append(finding)
    every = lines(text)
    first = fitting(every, LINES)
    numbers = [*range(1, first + 1), *(n for n in sorted(under) if first < n <= len(every))]
    rows = [(Line(n, every[n - 1], n in under), under.get(n, [])) for n in numbers]
    return {
        "rows": rows,
        "count": len(every),
        "cut": len(every) - len(rows),
        "findings": found,
        "unpacked": [finding for finding in found if finding.unpacked],
        "headline": findings.headline(report) if report else [],
    }
