"""The rules as pages show them: each rule's own text, under the severity that a competition's policy gives it."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from leaderboard.web.source import Line, lines
from reviewer import Policy, RuleText, rules_in_force
from reviewer.examples.source import marked, readable
from reviewer.rulebook import rule_text

ALLOWED = {
    "allow_env": "Variables that a script may read beside the launcher's own",
    "allow_flags": "Options of the command line that a script may read",
    "allow_paths": "Folders outside of its run that a script may name",
    "allow_imports": "Modules and functions that a script may use although a rule names them",
    "only_imports": "The only modules that a script may import beside Python's own and the kit",
}
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


@dataclass(frozen=True)
class Page:
    """One rule with a few of its examples, as coloured lines; what it finds in the refused ones is marked."""

    entry: Entry
    refused: list[list[Line]]
    fine: list[list[Line]]


def page(code: str, policy: dict[str, Any] | None) -> Page | None:
    """Return a rule's page, under a policy table or with its default severity; None for no rule in force."""
    try:
        rule = rule_text(code.upper())
    except KeyError:
        return None
    severity = rule.severity if policy is None else Policy.from_mapping(policy).severity(rule.code)
    refused, fine = (list(map(example, readable(texts))) for texts in (rule.invalid, rule.valid))
    return Page(_entry_of(rule, severity), refused, fine)


def example(text: str) -> list[Line]:
    """Return an example as lines; the marks at the ends of some become marked lines."""
    raw = text.rstrip("\n").split("\n")
    hits = [marked(line) for line in raw]
    plain = "\n".join(line if hit is None else hit[0] for line, hit in zip(raw, hits, strict=True))
    return [Line(n, html, hits[n - 1] is not None) for n, html in enumerate(lines(plain), 1)]


def by_default() -> list[Entry]:
    """Return every rule under its own severity, in the order of the catalogue."""
    return [_entry_of(rule, rule.severity) for rule in rules_in_force()]


def _entry_of(rule: RuleText, severity: str) -> Entry:
    return entry(rule.code, rule.name, severity, rule.text)


def allowed(policy: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return what a policy table allows, list by list; a closed list of modules is said even if it is empty."""
    lists = ((words, policy.get(key), key == "only_imports") for key, words in ALLOWED.items())
    return [(words, sorted(names)) for words, names, closed in lists if names or (closed and names is not None)]


def entries(policy: dict[str, Any]) -> list[Entry]:
    """Return every rule under a policy table, the most severe first."""
    terms = Policy.from_mapping(policy)
    found = [_entry_of(rule, terms.severity(rule.code)) for rule in rules_in_force()]
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
