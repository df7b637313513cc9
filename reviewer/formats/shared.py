"""What the formats for code review services have in common: where a finding is shown, and how loudly."""

from __future__ import annotations

from dataclasses import replace

from reviewer.report import Finding, Report, Severity

LOUDNESS: dict[Severity, int] = {"reject": 0, "review": 1, "warn": 1, "info": 2}  # error, warning, note


def in_the_file(finding: Finding, report: Report) -> Finding:
    """Return a finding with a place in the file itself: what stands in unpacked text is shown where it is packed."""
    if finding.view == "source":
        return finding
    shells = (f for f in report.findings if f.view == "source" and f.rule == "O601")
    shell = next(shells, None)
    line, column, end = (
        (1, 1, (1, 1)) if shell is None else (shell.line, shell.column, (shell.end_line, shell.end_column))
    )
    what, _, remedy = finding.message.partition("\n")
    said = f"In the unpacked text, line {finding.line}: {what}"
    return replace(
        finding, line=line, column=column, end_line=end[0], end_column=end[1], message=f"{said}\n{remedy}".rstrip()
    )
