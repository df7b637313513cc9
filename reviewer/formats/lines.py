"""For people, lines that editors jump by, `file:line:column CODE sentence`; for programs, one object for each file."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reviewer.formats import Checked
from reviewer.wording import spelled


def json_lines(one: Checked) -> str:
    """Return a report as one line: the object of `report.schema.json`, with the file's name in it."""
    return json.dumps({"event": "checked", "file": one.file, **one.report.to_json()}, separators=(", ", ": "))


def text_lines(one: Checked) -> Iterator[str]:
    """Yield each finding and, indented, what to do about it; then the verdict."""
    file, report = spelled(one.file), one.report  # whoever sends a file has chosen its name
    for found in report.findings:
        what, _, remedy = found.message.partition("\n")
        kept = " (inherited from the baseline)" if found.inherited else ""
        where = f"{file}(unpacked)" if found.view == "unpacked" else file
        yield f"{where}:{found.line}:{found.column} {found.rule} {found.name}, {found.severity}{kept}: {what}"
        if remedy:
            yield f"    {remedy}"
    stops = sum(found.severity == "reject" for found in report.findings)
    judge = sum(found.severity == "review" for found in report.findings)
    yield {
        "accept": f"{file}: accepted, nothing in it stops it.",
        "review": f"{file}: goes to an organizer, who reads {_findings(judge)}.",
        "reject": f"{file}: rejected, {_findings(stops)} must change first.",
    }[report.verdict]


def _findings(count: int) -> str:
    return f"{count} finding" if count == 1 else f"{count} findings"
