"""Which logical line of the text each statement of the tree begins on, found by counting both in source order.

A statement has one logical line for each of its decorators, one for its head, and those of its blocks; `else`,
`except`, `finally` and `case` have one of their own. The lines are those that the gate has found (`shape.py`). Where
the two counts differ, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from reviewer.shape import logical_lines


class LogicalLines:
    """The logical lines of one module, by the statements and the parts of statements that begin on them.

    They mean nothing unless text and tree `agree`.
    """

    def __init__(self, text: str, module: cst.Module) -> None:
        self._lines = logical_lines(text)
        self._heads: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self.agree = self._block(module.body, 0) == len(self._lines)

    def head(self, statement: cst.CSTNode) -> tuple[int, int]:
        """Return where the line of a head begins and ends: a statement's, without decorators, or an `else`'s."""
        return self._lines[self._heads[id(statement)]]

    def end(self, statement: cst.CSTNode) -> int:
        """Return where a statement ends."""
        return self._lines[self._ends[id(statement)]][1]

    def _block(self, body: Sequence[Any], at: int) -> int:
        """Count the lines of some statements, of which the first begins on line `at`; return the next line."""
        for statement in body:
            if type(statement) is cst.SimpleStatementLine:
                self._heads[id(statement)] = self._ends[id(statement)] = at
                at += 1
            else:
                at = self._compound(statement, at)
        return at

    def _compound(self, node: Any, at: int) -> int:
        at += len(getattr(node, "decorators", ()))
        self._heads[id(node)] = at
        at = self._suite(node.body, at + 1) if not isinstance(node, cst.Match) else at + 1
        for part in parts(node):
            if isinstance(part, cst.If):
                at = self._compound(part, at)
            else:
                self._heads[id(part)] = at
                at = self._suite(part.body, at + 1)
                self._ends[id(part)] = at - 1
        self._ends[id(node)] = at - 1
        return at

    def _suite(self, suite: cst.BaseSuite, at: int) -> int:
        return self._block(suite.body, at) if isinstance(suite, cst.IndentedBlock) else at


def parts(node: Any) -> list[Any]:
    """Return what follows the head of a compound statement and its block, each with a head of its own."""
    if isinstance(node, cst.Match):
        return list(node.cases)
    if isinstance(node, cst.Try | cst.TryStar):
        return [*node.handlers, *(part for part in (node.orelse, node.finalbody) if part is not None)]
    orelse = getattr(node, "orelse", None)
    return [] if orelse is None else [orelse]
