"""What a script says of itself in docstrings and comments, beside what the rules find.

A claim is a phrase of a few kinds ("no environment", "identical in training and evaluation"). It is looked for by
words that it must have, and only the sentence around such a word is read closely, so a file without claims costs
nothing. Sentences that ask, wish or set a condition claim nothing, and neither does what stands in quotes.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.facts import Claim
from reviewer.phrases import KINDS, Kind
from reviewer.report import Finding
from reviewer.script import Script
from reviewer.wording import clip

MOST_CLAIMS = 100
_MOST_OCCURRENCES = 400  # of the words of one kind
_SENTENCE = 240  # characters before and behind a word that may belong to its sentence
_SHOWN = 120
_END = re.compile(r"[.;!?](?=\s|$)|\n\s*\n|\n\s*[-*•]\s")
_HEDGED = re.compile(
    r"\b(?:todo|fixme|xxx|should|would|could|might|may|must|want|wants|ought|if|unless|whether|until|except|but for|"
    r"besides|other than|instead of|rather than|no longer|was|were|used to|not true|untrue|false|wrong)\b"
)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|isn't|aren't|hardly|barely|neither|nor|no)\s+(?:\w+\s+){0,2}|\b(?:non|in|un)-?)$"
)
_STRING = re.compile(
    r"#[^\n]*|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_DELIMITER = re.compile(r"^[rRuUbB]?(?:\"\"\"|'''|[\"'])|(?:\"\"\"|'''|[\"'])$")  # of a docstring: it quotes nothing


@dataclass(frozen=True)
class Said:
    """A phrase in a text of the file: its kind, its words, its line, and the docstring that it is part of, if any."""

    kind: Kind
    text: str
    line: int
    node: cst.Expr | None


def claims_of(script: Script, findings: Sequence[Finding]) -> tuple[Claim, ...]:
    """Return every claim with the rules that contradict it."""
    view = "unpacked" if script.layer and any(f.view == "unpacked" for f in findings) else "source"
    loud = {f.rule for f in findings if f.severity in ("warn", "review", "reject") and f.view == view}
    return tuple(
        Claim(said.line, said.kind.about, said.text, tuple(rule for rule in said.kind.rules if rule in loud))
        for said in said_in(script)
    )


_KNOWN: WeakKeyDictionary[Script, list[Said]] = WeakKeyDictionary()


def said_in(script: Script) -> list[Said]:
    """Return what a script claims, in source order; worked out once, for the report and for the rule."""
    if script not in _KNOWN:
        _KNOWN[script] = _said(script)
    return _KNOWN[script]


def _said(script: Script) -> list[Said]:
    found: dict[tuple[str, int], Said] = {}
    comments = _Comments(script.text)
    blocks = list(_prose(script))
    starts, prose = [], []
    at = 0
    for text, _, _ in blocks:
        starts.append(at)
        prose.append(text)
        at += len(text) + 2
    whole = "\n\n".join(prose)  # an empty line ends a sentence
    low = whole.lower()
    low = low if len(low) == len(whole) else whole  # a letter may become two
    for kind in KINDS:
        for start, end in islice(_phrases(script, low, kind), MOST_CLAIMS):
            n = bisect(starts, start) - 1
            where = blocks[n][1] + whole.count("\n", starts[n], start)
            if blocks[n][2] is not None or where in comments:
                words = clip(" ".join(whole[start:end].split()), _SHOWN)
                found.setdefault((kind.about, where), Said(kind, words, where, blocks[n][2]))
    return sorted(found.values(), key=lambda said: said.line)[:MOST_CLAIMS]


def _prose(script: Script) -> Iterator[tuple[str, int, cst.Expr | None]]:
    """Yield docstrings, and comments of neighbouring lines together, each with its first line."""
    at = line = 0
    for node in script.tree.of(cst.Expr):
        if type(node.value) is cst.SimpleString and not script.tree.is_outside(node):
            start = script.text.find(node.value.value, at)  # in source order, and written as it stands
            if start >= 0:
                line += script.text.count("\n", at, start)
                at = start
                yield _DELIMITER.sub(" ", node.value.value), line + 1, node
    block: list[str] = []
    for number, one in enumerate([*script.text.split("\n"), ""], start=1):
        if "#" not in one:
            alone = False
        else:
            alone = one.lstrip()[0] == "#"
            if not alone:
                yield one.partition("#")[2], number, None
        if alone:
            block.append(one.lstrip().lstrip("#"))
        elif block:
            yield "\n".join(block), number - len(block), None
            block = []


def _phrases(script: Script, low: str, kind: Kind) -> Iterator[tuple[int, int]]:
    """Yield where phrases of one kind begin and end in a text in lower case."""
    for word in kind.words:
        at = low.find(word)
        done = -1
        for _ in range(_MOST_OCCURRENCES):
            if at < 0:
                break
            script.budget.spend(4)
            first, last = _sentence(low, at)
            if first > done:
                done = first
                for match in kind.pattern.finditer(low, first, last):
                    if not _is_hedged(low, first, match):
                        yield match.span()
            at = low.find(word, max(at + 1, last if first == done else 0))


def _sentence(low: str, at: int) -> tuple[int, int]:
    begin, end = max(0, at - _SENTENCE), min(len(low), at + _SENTENCE)
    first = begin
    for mark in _END.finditer(low, begin, at):
        first = mark.end()
    mark_after = _END.search(low, at, end)
    return first, mark_after.end() if mark_after else end


def _is_hedged(low: str, first: int, match: re.Match[str]) -> bool:
    """Tell whether a phrase is wished, asked, denied or quoted."""
    before, behind = low[first : match.start()], low[match.end() : match.end() + 40]
    if (
        _HEDGED.search(before)
        or behind.lstrip().startswith("?")
        or re.match(r"\W{0,2}\s*(?:unless|except|if|but)\b", behind)
    ):
        return True
    if before[-1:] in "\"'`“‘«" and before[-1:] and behind[:1] in "\"'`”’»":
        return True
    return _NEGATED.search(before) is not None


class _Comments:
    """Tells in which lines the first # begins a comment; the texts of a file are found once, when first needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: set[int] | None = None

    def __contains__(self, number: int) -> bool:
        if self._lines is None:
            ends = [end.start() for end in re.finditer("\n", self._text)]
            marks = [token.start() for token in _STRING.finditer(self._text) if token[0][0] == "#"]
            self._lines = {bisect(ends, mark) + 1 for mark in marks}
        return number in self._lines
