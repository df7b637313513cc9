"""Cuts sections out of a script: from a banner of comments to the next of its style, or the statements of some names.

A banner is a line of comment between, or under, rules of one character, or one line with such rules at both ends:

    ########################        # ----------------        # ===== Dataloader =====
    #      Dataloader      #        # Dataloader
    ########################

Only comments between the statements of the module are banners: what stands inside of a text, a function or an `if` is
not. Written with the compiler's tree, which costs a tenth of the parse.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reviewer.baselines.frozen import Frozen

_RULE = re.compile(r"#[ \t]*([-=#*~_])\1{3,}[ \t]*#?\Z")
_INLINE = re.compile(r"#[ \t]*([-=#*~_])\1{2,}[ \t]+(\S.*?)[ \t]+\1{3,}[ \t]*#?\Z")


@dataclass(frozen=True)
class Banner:
    """A banner: its title, its style, and the lines (from 0) where it begins and where what it heads begins."""

    title: str
    style: tuple[str, str]
    first: int
    body: int


@dataclass(frozen=True)
class Cut:
    """A part of a script: its text without blank lines at its ends, its statements, and its first line, from 1."""

    text: str
    statements: tuple[ast.stmt, ...]
    line: int


class Lines:
    """A script as lines beside the compiler's statements."""

    def __init__(self, text: str, module: ast.Module) -> None:
        self.lines = [line.rstrip("\r") for line in text.split("\n")]
        self.raw = text.split("\n")
        self.body = module.body

    def banners(self) -> list[Banner]:
        """Return every banner, in order."""
        free = [line.startswith("#") for line in self.lines]
        for statement in self.body:
            first, last = span(statement)
            free[first:last] = [False] * (last - first)
        found, at = [], 0
        while at < len(self.lines):
            banner = self._banner(at, free)
            at = banner.body if banner else at + 1
            found += [banner] if banner else []
        return found

    def _banner(self, at: int, free: Sequence[bool]) -> Banner | None:
        if not free[at]:
            return None
        if inline := _INLINE.match(self.lines[at]):
            return Banner(title_of(inline[2]), ("line", inline[1]), at, at + 1)
        rule = _RULE.match(self.lines[at])
        if rule is None or at + 1 >= len(free) or not free[at + 1] or _RULE.match(self.lines[at + 1]):
            return None
        if not (title := title_of(self.lines[at + 1])):
            return None
        below = _RULE.match(self.lines[at + 2]) if at + 2 < len(free) and free[at + 2] else None
        if below is not None and below[1] == rule[1]:
            return Banner(title, ("box", rule[1]), at, at + 3)
        return Banner(title, ("head", rule[1]), at, at + 2)

    def cuts(self, section: Frozen) -> list[Cut]:
        """Return every part that a section may be: one for each banner of its title, or one of all its definitions.

        Nothing where a banner or one of the definitions is not there.
        """
        return list(self._under(section.banner)) if section.banner else self._defining(section.definitions)

    def _under(self, title: str) -> Iterator[Cut]:
        banners, title = self.banners(), title_of(title)
        starts = [span(statement)[0] for statement in self.body]
        following: dict[tuple[str, str], int] = {}  # the line of the next banner of each style
        ends = []
        for banner in reversed(banners):
            ends.append(following.get(banner.style, len(self.lines)))
            following[banner.style] = banner.first
        for banner, end in zip(banners, reversed(ends), strict=True):
            if banner.title == title:
                inside = self.body[bisect_left(starts, banner.body) : bisect_left(starts, end)]
                yield Cut(self._text(banner.body, end), tuple(inside), banner.first + 1)

    def _defining(self, names: Sequence[str]) -> list[Cut]:
        found: list[ast.stmt] = []
        for name in names:
            statement = next((s for s in self.body if name in bound_by(s)), None)
            if statement is None:
                return []
            found += [statement] if statement not in found else []
        text = "\n".join(self._text(*span(statement)) for statement in found)
        return [Cut(text, tuple(found), span(found[0])[0] + 1)]

    def _text(self, first: int, end: int) -> str:
        while first < end and not self.raw[first].strip():
            first += 1
        while end > first and not self.raw[end - 1].strip():
            end -= 1
        return "\n".join(self.raw[first:end])


def span(statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, from 0, with its decorators; the second is behind its last."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(d.lineno for d in decorators)]) - 1, statement.end_lineno or statement.lineno


def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that one statement of a module defines, not looking into blocks."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def title_of(line: str) -> str:
    """Return the words of a banner as they are compared: without signs around them, spaces once, capitals as small."""
    return " ".join(line.strip("#-=*~_ \t\r").split()).casefold()
