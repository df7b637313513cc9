"""Reports in the forms that other programs read: one function each, from what was checked to a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reviewer.report import Report

Format = Literal["text", "json", "github", "sarif"]
FORMATS: tuple[Format, ...] = ("text", "json", "github", "sarif")


@dataclass(frozen=True)
class Checked:
    """One file and what the audit says of it."""

    file: str
    report: Report


def written(format: Format, checked: Sequence[Checked]) -> str:
    """Return all reports in one of the formats, without a line end behind the last line."""
    if format == "json":
        from reviewer.formats.lines import json_lines

        return "\n".join(map(json_lines, checked))
    if format == "github":
        from reviewer.formats.github import commands

        return "\n".join(commands(checked))
    if format == "sarif":
        from reviewer.formats.sarif import log

        return log(checked)
    from reviewer.formats.lines import text_lines

    return "\n".join(line for one in checked for line in text_lines(one))
