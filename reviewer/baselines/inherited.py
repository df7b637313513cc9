"""What of a script is the kit's own: code that everybody starts from, and that says there what it says here.

A finding is inherited where all of this holds:

* the smallest definition around it (a function or class with its decorators, else the statement of the module that
  holds it) stands in the baseline byte for byte, under the same qualified name;
* for the rules of the evaluation path (E2xx), the whole statement of the module around it does, mostly a class: what a
  fork does is decided by the methods beside it;
* where it would stop the script, the same rule finds the same in the baseline, in that definition. Lines that are
  unchanged can be reached by changed ones: a constant that names a file, an attribute set for evaluation alone.

The first two cost the compiler's parse of the baseline. The third reads it as the audit reads a script, which costs as
much as half an audit, and only for scripts with such a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from reviewer import gate

if TYPE_CHECKING:
    from reviewer.found import Found
    from reviewer.rules.base import Rule
    from reviewer.script import Script

_EVALUATION = "E2"
_STOPS = ("reject", "review")
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)


class Inherited:
    """Tells which findings in one script are those of its policy's baseline."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._baseline = script.policy.baseline
        self._mine: _Code | None = None
        self._theirs: _Code | None = None
        self._kit: Script | None = None
        self._said: dict[str, frozenset[tuple[str, str, str]]] = {}  # by rule: in which definition it says what

    def holds(self, rule: Rule, item: Found, first: int, last: int) -> bool:
        """Tell whether a finding in these lines of the script is inherited."""
        if self._baseline is None or not rule.inherits:
            return False
        if self._mine is None:
            self._mine = _Code(self._script.tree.syntax(), self._script.text)
            self._theirs = _code(self._baseline)
        place = self._mine.around(first, last)
        if place is None or self._theirs is None or place not in self._theirs.known:
            return False
        if rule.code.startswith(_EVALUATION) and self._mine.statement(first) not in self._theirs.known:
            return False
        if self._script.policy.severity(rule.code, item.at_most) not in _STOPS:
            return True
        return (*place, item.what) in self._saying(rule, self._theirs)

    def _saying(self, rule: Rule, theirs: _Code) -> frozenset[tuple[str, str, str]]:
        if rule.code not in self._said:
            try:
                self._said[rule.code] = frozenset(self._says(rule, theirs))
            except Exception:  # whatever a rule meets in the baseline, nothing is inherited then
                self._said[rule.code] = frozenset()
        return self._said[rule.code]

    def _says(self, rule: Rule, theirs: _Code) -> Iterator[tuple[str, str, str]]:
        """Yield what a rule finds in the baseline, each with the definition that it is in."""
        from reviewer.found import Found  # both need this module
        from reviewer.script import Script

        mine = self._script
        self._kit = kit = self._kit or Script(self._baseline or "", mine.policy, mine.launch, context=mine.context)
        items = [i for i in rule.check(kit) if isinstance(i, Found) and i.node is not kit.tree.module]
        spans = kit.tree.spans([i.node for i in items]) if items else {}
        for item in items:
            span = spans[id(item.node)]
            if place := theirs.around(span.line, span.end_line):
                yield *place, item.what


@dataclass(frozen=True)
class _Piece:
    """A definition, with its qualified name, or a statement of the module, without one; lines count from 1."""

    first: int
    last: int
    name: str
    outer: _Piece | None


class _Code:
    """The statements of a module and the definitions at any depth, by their lines."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._lines = text.split("\n")
        self._at: list[_Piece | None] = [None] * (len(self._lines) + 2)  # by line: the smallest piece on it
        self._pieces: list[_Piece] = []
        statements: list[tuple[list[ast.stmt], int, int]] = []
        for statement in tree.body:
            first, last = _extent(statement)
            if statements and first <= statements[-1][2]:  # `a = (\n1); b = 2`: lines that are shared make them one
                members, first, _ = statements.pop()
                statements.append(([*members, statement], first, last))
            else:
                statements.append(([statement], first, last))
        for members, first, last in statements:
            piece = self._put(first, last, "", None)
            self._definitions([(member, piece) for member in members])

    @cached_property
    def known(self) -> frozenset[tuple[str, str]]:
        """The name and the text of every piece."""
        return frozenset(self._said(piece) for piece in self._pieces)

    def around(self, first: int, last: int) -> tuple[str, str] | None:
        """Return the name and the text of the smallest piece that holds these lines."""
        piece = self._at[first]
        while piece is not None and piece.last < last:
            piece = piece.outer
        return None if piece is None else self._said(piece)

    def statement(self, line: int) -> tuple[str, str] | None:
        """Return the name, which is empty, and the text of the statement of the module on a line."""
        piece = self._at[line]
        while piece is not None and piece.outer is not None:
            piece = piece.outer
        return None if piece is None else self._said(piece)

    def _definitions(self, todo: list[tuple[ast.AST, _Piece]]) -> None:
        while todo:
            node, around = todo.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{around.name}.{node.name}" if around.name else node.name
                around = self._put(*_extent(node), name, around)
            todo += [(child, around) for child in ast.iter_child_nodes(node) if isinstance(child, _BLOCKS)]

    def _put(self, first: int, last: int, name: str, outer: _Piece | None) -> _Piece:
        piece = _Piece(first, last, name, outer)
        self._pieces.append(piece)
        self._at[first : last + 1] = [piece] * (last + 1 - first)
        return piece

    def _said(self, piece: _Piece) -> tuple[str, str]:
        return piece.name, "\n".join(self._lines[piece.first - 1 : piece.last])


def _code(text: str) -> _Code | None:
    """Return the pieces of a baseline; None where it is no script."""
    try:
        return _Code(gate.syntax_of(text), text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _extent(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, decorators with it."""
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)]), node.end_lineno or node.lineno
