"""What a script says of itself in docstrings and comments, beside what the rules find.

A claim is a phrase of a few kinds ("no environment", "identical in training and evaluation"). It is looked for by
words that it must have, and only the sentence around such a word is read closely, so a file without claims costs
nothing. Sentences that ask, wish or set a condition claim nothing, and neither does what stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
_DELIMITER = re.compile(r"\"\"\"|'''|^\s*[\"']|[\"']\s*(?:#.*)?$")  # of a docstring: it quotes nothing


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


def said_in(script: Script) -> list[Said]:
    """Return what a script claims, in source order."""
    found: dict[tuple[str, int], Said] = {}
    for prose, line, node in _prose(script):
        low = prose.lower()
        for kind in KINDS:
            for start, end in _phrases(script, low, kind):
                where = line + prose.count("\n", 0, start)
                if node is not None or _is_comment(script, where):
                    words = clip(" ".join(prose[start:end].split()), _SHOWN)
                    found.setdefault((kind.about, where), Said(kind, words, where, node))
    return sorted(found.values(), key=lambda said: said.line)[:MOST_CLAIMS]


def _prose(script: Script) -> Iterator[tuple[str, int, cst.Expr | None]]:
    """Yield docstrings, and comments of neighbouring lines together, each with its first line."""
    lines = script.text.split("\n")
    docs = [e for e in script.tree.of(cst.Expr) if type(e.value) in (cst.SimpleString, cst.ConcatenatedString)]
    wanted = [d for d in docs if _may_claim(script.tree.code(d))]
    spans = script.tree.spans(wanted) if wanted else {}
    for node in wanted:
        span = spans[id(node)]
        yield _DELIMITER.sub(" ", "\n".join(lines[span.line - 1 : span.end_line])), span.line, node
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        alone = line.lstrip().startswith("#")
        if block and not alone:
            yield "\n".join(block), number - len(block), None
            block = []
        if alone:
            block.append(line.lstrip().lstrip("#"))
        elif "#" in line:
            yield line.partition("#")[2], number, None


def _may_claim(text: str) -> bool:
    low = text.lower()
    return any(word in low for kind in KINDS for word in kind.words)


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
            at = low.find(word, at + 1)


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


def _is_comment(script: Script, number: int) -> bool:
    """Tell whether the first # of a line, by its number, begins a comment and does not stand in a text."""
    lines = script.text.split("\n")
    start = sum(map(len, lines[: number - 1])) + number - 1
    mark = start + lines[number - 1].find("#")
    for token in _STRING.finditer(script.text):
        if token.end() > mark:
            return token.start() == mark
    return False
