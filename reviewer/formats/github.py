"""Annotations of a GitHub workflow: commands that its runner reads from what a step prints.

A script chooses what is quoted from it, so all of that is escaped: it cannot end a command and begin another. GitHub
shows ten annotations of each kind for a step and drops the others without a word, so here the worst ones are sent,
and a last line says how many are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reviewer.formats import Checked
from reviewer.formats.shared import LOUDNESS, in_the_file
from reviewer.report import Finding

MOST_OF_A_KIND = 10
_KINDS = ("error", "warning", "notice")
_LAST = {"accept": "accepted", "review": "an organizer reads it first", "reject": "rejected"}
_ORDER = ("reject", "review", "warn", "info")


def commands(checked: Sequence[Checked]) -> Iterator[str]:
    """Yield one line for each annotation, the most severe first, then one for each file."""
    every = [(one.file, in_the_file(f, one.report)) for one in checked for f in one.report.findings]
    every.sort(key=lambda each: _ORDER.index(each[1].severity))
    sent: Counter[str] = Counter()
    for file, found in every:
        kind = _KINDS[LOUDNESS[found.severity]]
        sent[kind] += 1
        if sent[kind] <= MOST_OF_A_KIND:
            yield _command(kind, file, found)
    for one in checked:
        yield f"submit: {_plain(one.file)}: {_LAST[one.report.verdict]}"
    if rest := sum(max(0, count - MOST_OF_A_KIND) for count in sent.values()):
        yield f"submit: {rest} more findings have no annotation, GitHub shows {MOST_OF_A_KIND} of a kind."


def _command(kind: str, file: str, found: Finding) -> str:
    place: dict[str, object] = {"file": file, "line": found.line, "endLine": found.end_line}
    if found.line == found.end_line:  # columns of two lines are refused
        place |= {"col": found.column, "endColumn": found.end_column}
    place["title"] = f"{found.rule} {found.name}"
    return f"::{kind} {','.join(f'{key}={_property(value)}' for key, value in place.items())}::{_data(found.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """Return a name for an ordinary line, in which it must not be read as a command of either notation."""
    return _property(text).replace("#", "%23")
