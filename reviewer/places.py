"""Finds the exact places of a few nodes without writing the whole file back.

Writing a libcst tree back, which is how libcst itself finds positions, costs a third of the parse. On which line a
statement begins is known without that (`logicallines.py`). So the tree is descended statement by statement, only
towards the wanted nodes; a plain statement is given to the compiler, alone, which places what is in it; of another one
the head is written back, and its first character is where its line begins. If text and tree ever disagree about the
lines, the whole file is written back after all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from reviewer.gate import syntax_of
from reviewer.logicallines import LogicalLines, parts
from reviewer.nodes import children
from reviewer.pairs import paired


@dataclass(frozen=True)
class Span:
    """Where a node stands: lines and columns from 1, columns in characters; its end is just behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


_APART = (cst.IndentedBlock, cst.If, cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.MatchCase)
# What is wrong with a statement is told of the whole text.
_UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


class Places:
    """The places of nodes of one module. `parents` maps the id of a node to the node that holds it."""

    def __init__(self, text: str, module: cst.Module, parents: dict[int, cst.CSTNode]) -> None:
        self._text, self._module, self._parents = text, module, parents
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._lines = LogicalLines(text, module)

    def of(self, wanted: Sequence[cst.CSTNode]) -> dict[int, Span]:
        """Return the places of these nodes by their id."""
        self._wanted = {id(n) for n in wanted}
        self._towards: set[int] = set()
        for node in wanted:
            above: cst.CSTNode | None = node
            while above is not None and id(above) not in self._towards:
                self._towards.add(id(above))
                above = self._parents.get(id(above))
        found: dict[int, Span] = {}
        if self._lines.agree:
            self._block(self._module.body, found)
        if len(found) < len(self._wanted):
            state = _Writer(self._module, self._wanted)
            self._module._codegen(state)
            found = state.spans(0, 1, 1)
        return found

    def _block(self, body: Sequence[Any], found: dict[int, Span]) -> None:
        for statement in body:
            if id(statement) in self._towards:
                self._statement(statement, found)

    def _statement(self, node: Any, found: dict[int, Span], is_elif: bool = False) -> None:
        if not isinstance(node, cst.BaseCompoundStatement):
            plain = len(node.body) == 1 and id(node) not in self._wanted
            if not plain or not self._paired(node, found):
                self._write(node, node, found)
            return
        self._head(node, found, is_elif)
        for part in parts(node):
            if id(part) in self._towards:
                if isinstance(part, cst.If):
                    self._statement(part, found, is_elif=True)
                else:
                    self._head(part, found)

    def _head(self, node: Any, found: dict[int, Span], is_elif: bool = False) -> None:
        """Place a compound statement or a part of one, what is in its head, and what is in the block behind that."""
        if id(node) in self._wanted:
            found[id(node)] = self._whole(node)
        if isinstance(getattr(node, "body", None), cst.IndentedBlock) and id(node.body) in self._towards:
            self._block(node.body.body, found)
        if any(id(one) in self._wanted for one in self._near(node)):
            self._write(node, _header(node), found, is_elif)

    def _paired(self, node: cst.SimpleStatementLine, found: dict[int, Span]) -> bool:
        """Have the compiler place what is in a plain statement; tell whether it could."""
        inside = {id(n): n for n in self._near(node) if id(n) in self._wanted}
        start, end = self._lines.head(node)
        piece = self._text[start:end]
        try:
            compiled = syntax_of(piece).body
        except _UNREADABLE:
            return False
        pairs = paired(node.body[0], compiled[0], inside) if len(compiled) == 1 else None
        if pairs is None:
            return False
        lines = piece.split("\n")
        line, column = self._place(start)
        for key, there in pairs.items():
            ends = []
            for row, offset in (there.lineno, there.col_offset), (there.end_lineno or 0, there.end_col_offset or 0):
                before = len(lines[row - 1].encode()[:offset].decode())
                ends += [line + row - 1, before + (column if row == 1 else 1)]
            found[key] = Span(*ends)
        return True

    def _near(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes on the way to wanted ones, without those in an indented block or in a part behind it."""
        stack = [c for c in children(node) if id(c) in self._towards]
        while stack:
            one = stack.pop()
            if isinstance(one, _APART):
                continue
            yield one
            stack.extend(c for c in children(one) if id(c) in self._towards)

    def _whole(self, node: cst.CSTNode) -> Span:
        """Return the place of a compound statement or a part, without a semicolon at its end."""
        start, end = self._lines.head(node)[0], self._lines.end(node)
        while self._text[end - 1] in "; \t\f":
            end -= 1
        return Span(*self._place(start), *self._place(end))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _write(self, node: Any, header: Any, found: dict[int, Span], is_elif: bool = False) -> None:
        """Write a head back; `node` is what it was made of."""
        line, column = self._place(self._lines.head(node)[0])
        before = self._text[self._starts[line - 1] : self._starts[line - 1] + column - 1]
        state = _Writer(self._module, self._wanted)
        if not before.strip():
            state.increase_indent(before)
        if is_elif:
            header._codegen(state, is_elif=True)
        else:
            header._codegen(state)
        spans = state.spans(state.start(header), line, column)
        for key, span in spans.items():
            found.setdefault(key, span)


def _header(node: Any) -> Any:
    """Return a statement or part with its blocks emptied, so that only its head is written."""
    changes: dict[str, Any] = {}
    if isinstance(node, cst.Try | cst.TryStar | cst.Match):
        return node  # each has to have something behind its head
    if isinstance(node.body, cst.IndentedBlock):
        changes["body"] = cst.SimpleStatementSuite([cst.Pass()])
    if isinstance(node, cst.If | cst.For | cst.While) and node.orelse is not None:
        changes["orelse"] = None
    return node.with_changes(**changes) if changes else node


class _Writer(CodegenState):
    """Notes how many pieces of code had been written when a node began and ended.

    A node begins and ends where libcst says that its syntax does: behind the comments above it and its decorators,
    inside its parentheses, before its semicolon.
    """

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self._wanted = wanted
        self._marks: dict[int, tuple[int, int]] = {}
        self._open: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self._wanted:
            self._open.append(len(self.tokens))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self._wanted:
            start = self._open.pop()
            self._marks.setdefault(id(node), (start, len(self.tokens)))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        here = (len(self.tokens), 0)
        yield
        begin, _ = here if start_node is None else self._marks[id(start_node)]
        here = (0, len(self.tokens))  # what has no place of its own, a bracket, ends here
        _, end = here if end_node is None else self._marks.get(id(end_node), here)
        self._marks[id(node)] = begin, end

    def start(self, node: cst.CSTNode) -> int:
        """Return the offset of the first character of a statement, its decorators left out."""
        return sum(map(len, self.tokens[: self._marks[id(node)][0]]))

    def spans(self, anchor: int, line: int, column: int) -> dict[int, Span]:
        """Turn counts of pieces into places, given the place of the character at `anchor`."""
        code, ends = "".join(self.tokens), [0]
        for token in self.tokens:
            ends.append(ends[-1] + len(token))

        def place(offset: int) -> tuple[int, int]:
            if offset < anchor:  # a decorator, which begins on a line of its own
                return line - code.count("\n", offset, anchor), offset - code.rfind("\n", 0, offset)
            newlines = code.count("\n", anchor, offset)
            return line + newlines, offset - code.rfind("\n", anchor, offset) if newlines else column + offset - anchor

        kept = self._marks.keys() & self._wanted
        return {key: Span(*place(ends[self._marks[key][0]]), *place(ends[self._marks[key][1]])) for key in kept}
