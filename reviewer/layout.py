"""The exact place of every node of a script, as offsets into its text. For the fixer; an audit never needs it.

libcst writes the tree back once and every node is noted where it begins and ends. If what was written is not the text,
byte for byte, nothing is known and nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

BOM = "\ufeff"


class Unplaced(ValueError):
    """libcst does not give the text back, so nobody knows where its nodes stand."""


class Layout:
    """Where the nodes of one module stand. Raises Unplaced."""

    def __init__(self, text: str, module: cst.Module) -> None:
        self.text = text
        state = _Notes(module)
        state.pos = len(BOM) if text.startswith(BOM) else 0
        module._codegen(state)
        if "".join(state.tokens) != text.removeprefix(BOM):
            raise Unplaced("the text is not what its tree says")
        self._whole, self._code = state.whole, state.code

    def whole(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return where a node begins and ends with all that libcst counts to it: parentheses, commas, lines above."""
        return self._whole[id(node)]

    def code(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return where the code of a node stands: an expression with its parentheses, a statement without its line."""
        if isinstance(node, cst.BaseExpression) or id(node) not in self._code:
            return self._whole[id(node)]
        start, end = self._code[id(node)]
        decorators = getattr(node, "decorators", ())
        return (self._code[id(decorators[0])][0] if decorators else start), end

    def source(self, node: cst.CSTNode) -> str:
        """Return the source of a node, byte for byte."""
        start, end = self.code(node)
        return self.text[start:end]

    def line(self, offset: int) -> int:
        """Return the number of the line, from 1, in which an offset is."""
        return self.text.count("\n", 0, offset) + 1

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return max(self.text.rfind("\n", 0, offset) + 1, len(BOM) if self.text.startswith(BOM) else 0)

    def end(self, node: cst.CSTNode) -> int:
        """Return where the last line of a statement ends, with its comment, just before the line end."""
        end = self._whole[id(node)][1]
        while end and self.text[end - 1] in "\r\n":
            end -= 1
        return end

    def indent(self, node: cst.CSTNode) -> str:
        """Return what stands before a statement in its line."""
        start = self.code(node)[0]
        return self.text[self.line_start(start) : start]

    def body(self, block: cst.BaseSuite, indent: str, kept: list[tuple[int, int]]) -> str:
        """Return the statements of a block as they read under another indentation, without that of the first line.

        `kept` are the places of texts over several lines, whose lines are not indented code.
        """
        if isinstance(block, cst.SimpleStatementSuite):
            return self.text[self.code(block.body[0])[0] : self.end(block)].rstrip()
        first = block.body[0]
        own = self.indent(first)
        at, end = self._whole[id(first)][0], self._whole[id(block)][1]
        lines = []
        while at < end:
            following = self._next(at)
            line = self.text[at:following]
            if line.startswith(own) and not any(a < at < b for a, b in kept):
                line = indent + line[len(own) :]
            lines.append(line)
            at = following
        return "".join(lines).rstrip("\r\n").removeprefix(indent)

    def _next(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


class _Notes(CodegenState):
    """Writes a module and notes offsets."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.pos = 0
        self.whole: dict[int, tuple[int, int]] = {}
        self.code: dict[int, tuple[int, int]] = {}

    def add_indent_tokens(self) -> None:
        self.pos += sum(map(len, self.indent_tokens))
        super().add_indent_tokens()

    def add_token(self, value: str) -> None:
        self.pos += len(value)
        super().add_token(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.whole[id(node)] = (self.pos, self.pos)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.whole[id(node)] = (self.whole[id(node)][0], self.pos)

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.pos -= len(self.tokens[-1])
        super().pop_trailing_newline()

    @contextmanager
    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> Iterator[None]:
        start = self.pos
        yield
        end = self.code[id(end_node)][1] if end_node is not None and id(end_node) in self.code else self.pos
        self.code[id(node)] = (start, end)
