"""The rules as pages show them: each rule's own text, under the severity that a competition's policy gives it."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reviewer import Policy, rules_in_force

_ORDER = ("reject", "review", "warn", "info", "off")
Piece = tuple[bool, str]  # whether it is code, and the text
Paragraph = tuple[str, Any]  # ("code", text) or ("text", pieces)


@dataclass(frozen=True)
class Entry:
    """One rule: its text in sections (heading, paragraphs), and how severe a finding of it is here."""

    code: str
    name: str
    severity: str
    summary: str
    sections: tuple[tuple[str, tuple[Paragraph, ...]], ...]


def entries(policy: dict[str, Any]) -> list[Entry]:
    """Return every rule under a policy table, the most severe first."""
    terms = Policy.from_mapping(policy)
    found = [entry(rule.code, rule.name, terms.severity(rule.code), rule.text) for rule in rules_in_force()]
    return sorted(found, key=lambda each: (_ORDER.index(each.severity), each.code))


def entry(code: str, name: str, severity: str, text: str) -> Entry:
    """Read a rule's text: a first line, then headings with what stands indented below them."""
    summary, _, rest = inspect.cleandoc(text).partition("\n")
    sections = re.split(r"^(?=\S)", rest, flags=re.MULTILINE)
    return Entry(code, name, severity, summary, tuple(_section(part) for part in sections if part.strip()))


def _section(text: str) -> tuple[str, tuple[Paragraph, ...]]:
    heading, _, body = text.partition("\n")
    return heading.strip(), tuple(_paragraphs(inspect.cleandoc(body)))


def _paragraphs(body: str) -> Iterator[Paragraph]:
    for part in re.split(r"\n\s*\n", body):
        if part.startswith("    "):
            yield "code", inspect.cleandoc(part)
        elif part.strip():
            yield "text", pieces(" ".join(part.split()))


def pieces(text: str) -> tuple[Piece, ...]:
    """Cut a sentence at its `backticks`."""
    return tuple((number % 2 == 1, piece) for number, piece in enumerate(text.split("`")) if piece)
