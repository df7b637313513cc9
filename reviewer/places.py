"""Finds the exact places of a few nodes without writing the whole file back.

Writing a libcst tree back, which is how libcst itself finds positions, costs a third of the parse. The compiler has
already placed every statement, so both trees are descended together, statement by statement, only towards the wanted
nodes; then just the statement (or the header of the block) that holds them is written back, and its first character
is where the compiler says. If the two trees ever disagree, the whole file is written back after all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from reviewer.nodes import children
from reviewer.pairs import paired


@dataclass(frozen=True)
class Span:
    """Where a node stands: lines and columns from 1, columns in characters; its end is just behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


class _Disagree(Exception):
    """The two trees do not have the same statements."""


class Places:
    """The places of nodes of one module. `parents` maps the id of a node to the node that holds it."""

    def __init__(self, text: str, module: cst.Module, compiled: ast.Module, parents: dict[int, cst.CSTNode]) -> None:
        self._lines = text.split("\n")
        self._module, self._compiled, self._parents = module, compiled, parents

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
        try:
            self._block(self._module.body, self._compiled.body, found)
        except _Disagree:
            found = {}
        if len(found) < len(self._wanted):
            state = _Writer(self._module, self._wanted)
            self._module._codegen(state)
            found = state.spans(0, 1, 1)
        return found

    def _block(self, body: Sequence[Any], compiled: Sequence[ast.stmt], found: dict[int, Span]) -> None:
        at = 0
        for statement in body:
            size = len(statement.body) if isinstance(statement, cst.SimpleStatementLine) else 1
            if id(statement) in self._towards:
                if at + size > len(compiled):
                    raise _Disagree
                self._statement(statement, compiled[at], found)
            at += size
        if at != len(compiled):
            raise _Disagree

    def _statement(self, node: Any, compiled: ast.stmt, found: dict[int, Span], is_elif: bool = False) -> None:
        header = node
        if type(node) is cst.SimpleStatementLine and len(node.body) == 1:
            inside = {id(n): n for n in self._near(node) if id(n) in self._wanted}
            pairs = paired(node.body[0], compiled, inside) if id(node) not in self._wanted else None
            if pairs is not None:
                found.update((key, self._of(there)) for key, there in pairs.items())
                return
        if isinstance(node, cst.BaseCompoundStatement):
            for block, inner in _blocks(node, compiled):
                if id(block) in self._towards:
                    self._block(block.body, inner, found)
            if isinstance(node, cst.If) and isinstance(node.orelse, cst.If) and id(node.orelse) in self._towards:
                if not isinstance(compiled, ast.If) or len(compiled.orelse) != 1:
                    raise _Disagree
                self._statement(node.orelse, compiled.orelse[0], found, is_elif=True)
            header = _header(node)
            if id(node) in self._wanted:
                found[id(node)] = self._whole(compiled)
        if id(header) in self._wanted or any(id(n) in self._wanted and id(n) not in found for n in self._near(node)):
            self._write(header, compiled, found, is_elif)

    def _near(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes on the way to wanted ones that are not in a block of their own."""
        stack = [c for c in children(node) if id(c) in self._towards]
        while stack:
            one = stack.pop()
            if isinstance(one, cst.IndentedBlock | cst.If):
                continue
            yield one
            stack.extend(c for c in children(one) if id(c) in self._towards)

    def _whole(self, compiled: ast.stmt) -> Span:
        """Return the place of a compound statement; a semicolon at its end belongs to it for the compiler alone."""
        span = self._of(compiled)
        end = self._before(span.end_line, compiled.end_col_offset or 0)
        return replace(span, end_column=len(end[:-1].rstrip()) + 1) if end.endswith(";") else span

    def _of(self, compiled: ast.stmt | ast.expr) -> Span:
        line, end_line = compiled.lineno, compiled.end_lineno or compiled.lineno
        start, end = self._before(line, compiled.col_offset), self._before(end_line, compiled.end_col_offset or 0)
        return Span(line, len(start) + 1, end_line, len(end) + 1)

    def _before(self, line: int, offset: int) -> str:
        return self._lines[line - 1].encode()[:offset].decode()

    def _write(self, header: Any, compiled: ast.stmt, found: dict[int, Span], is_elif: bool) -> None:
        line = compiled.lineno
        before = self._before(line, compiled.col_offset)
        state = _Writer(self._module, self._wanted)
        if not before.strip():
            state.increase_indent(before)
        if is_elif:
            header._codegen(state, is_elif=True)
        else:
            header._codegen(state)
        spans = state.spans(state.start(header), line, len(before) + 1)
        for key, span in spans.items():
            found.setdefault(key, span)


def _blocks(node: Any, compiled: Any) -> Iterator[tuple[Any, Sequence[ast.stmt]]]:
    """Pair the blocks of a compound statement with the compiler's."""
    if isinstance(node, cst.Match):
        yield from ((c.body, k.body) for c, k in zip(node.cases, compiled.cases, strict=False))
        return
    yield node.body, compiled.body
    if isinstance(node, cst.Try | cst.TryStar):
        handlers: Any = node.handlers
        yield from ((h.body, k.body) for h, k in zip(handlers, compiled.handlers, strict=False))
        if node.finalbody is not None:
            yield node.finalbody.body, compiled.finalbody
    orelse = getattr(node, "orelse", None)
    if isinstance(orelse, cst.Else):
        yield orelse.body, compiled.orelse


def _header(node: Any) -> Any:
    """Return a compound statement with its indented blocks emptied, so that only its head is written."""
    changes: dict[str, Any] = {}
    empty = cst.SimpleStatementSuite([cst.Pass()])
    if isinstance(node, cst.Try | cst.TryStar | cst.Match):
        return node  # what comes after its first block has to be counted
    if isinstance(getattr(node, "body", None), cst.IndentedBlock):
        changes["body"] = empty
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
