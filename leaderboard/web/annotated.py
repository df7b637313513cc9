"""A script with what the audit said, each finding under its line.

Scripts may have a quarter of a million lines. Of a very long one the first are shown, and each with a finding.
"""

from dataclasses import dataclass
from typing import Any

from leaderboard.submissions.models import Submission
from leaderboard.web import findings
from leaderboard.web.source import Line, decode, fitting, lines

LINES = 4_000  # shown at most; the script as a file has all
Row = tuple[Line, list[findings.Shown]]


def annotated(submission: Submission, report: dict[str, Any] | None) -> dict[str, Any]:
    """Return the script's lines with the findings under theirs, and the same of the text that it carries packed.

    `cut` is how many of its `count` lines are not among the `rows`; `inner` is None where nothing was unpacked.
    """
    found = findings.shown(report, decode(submission.script)) if report else []
    outer, within = ([f for f in found if f.unpacked == inside] for inside in (False, True))
    rows, count = _rows(decode(submission.script), outer)
    return {
        "rows": rows,
        "count": count,
        "cut": count - len(rows),
        "findings": found,
        "unpacked": within,
        "headline": findings.headline(report) if report else [],
        "inner": _inner(report, within) if report else None,
    }


@dataclass(frozen=True)
class Inner:
    """The text that a packed script carries, the innermost of `layers`, in rows like those of the script."""

    rows: list[Row]
    count: int
    cut: int
    layers: int
    sha256: str


def _inner(report: dict[str, Any], within: list[findings.Shown]) -> Inner | None:
    texts = report.get("unpacked") or []
    if not texts:
        return None
    last = texts[-1]
    rows, count = _rows(str(last["text"]), within)
    return Inner(rows, count, count - len(rows), len(texts), str(last["sha256"]))


def _rows(text: str, found: list[findings.Shown]) -> tuple[list[Row], int]:
    """Return the lines that are shown, each with its findings, and how many there are."""
    under: dict[int, list[findings.Shown]] = {}
    for finding in found:
        under.setdefault(finding.line, []).append(finding)
    every = lines(text)
    first = fitting(every, LINES)
    numbers = [*range(1, first + 1), *(n for n in sorted(under) if first < n <= len(every))]
    return [(Line(n, every[n - 1], n in under), under.get(n, [])) for n in numbers], len(every)
