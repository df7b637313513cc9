"""One parse, one walk.

libcst's metadata providers cost ten times the parse on the files that people send. So the tree is walked once, by an
explicit stack, over the fields that hold code (whitespace, brackets and punctuation are left out; the field names are
found once per node class), and what the rules need is kept: each node by its class, and its parent. Positions come
from writing the code back, which costs a third of the parse, so they are computed once, and only when a rule
has found something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState

N = TypeVar("N", bound=cst.CSTNode)
M = TypeVar("M", bound=cst.CSTNode)

_PUNCTUATION = (
    "whitespace", "lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "leading_lines", "lines_after", "header",
    "footer", "trailing_whitespace", "comma", "semicolon", "equal", "newline", "operator", "dot", "indent",
    "first_colon", "second_colon", "colon", "asynchronous", "encoding", "default_", "has_trailing", "posonly_ind",
    "relative", "separator", "bar", "prefix", "start", "end",
)  # fmt: skip

_getters: dict[type, Callable[[Any], Any] | None] = {}


def _getter(cls: type) -> Callable[[Any], Any] | None:
    """Return what fetches the code-holding fields of a node class, always as a tuple."""
    names = [f.name for f in fields(cls) if not f.name.startswith(_PUNCTUATION) and f.name != "star"]
    if issubclass(cls, cst.Name | cst.BaseNumber | cst.SimpleString | cst.FormattedStringText):
        names = []
    get = attrgetter(*names) if names else None
    if get is not None and len(names) == 1:
        one = get
        return lambda node: (one(node),)
    return get


@dataclass(frozen=True)
class Span:
    """Where a node stands: lines and columns from 1, columns in characters."""

    line: int
    column: int
    end_line: int


class Tree:
    """A parsed script: its nodes by class, their parents, and, on demand, their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.module = cst.parse_module(text)
        self._nodes: dict[type, list[Any]] = defaultdict(list)
        self._parents: dict[int, cst.CSTNode] = {}
        self._walk()

    def _walk(self) -> None:
        nodes, parents, getters = self._nodes, self._parents, _getters
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            cls = type(node)
            nodes[cls].append(node)
            try:
                get = getters[cls]
            except KeyError:
                get = getters[cls] = _getter(cls)
            if get is None:
                continue
            for value in get(node)[::-1]:  # what is pushed last is visited first: source order
                kind = type(value)
                if kind in getters:  # a node of a class that has been met; `isinstance` on libcst's classes is slow
                    parents[id(value)] = node
                    stack.append(value)
                elif kind is tuple or kind is list:
                    for child in value:
                        parents[id(child)] = node
                    stack.extend(value[::-1])
                elif isinstance(value, cst.CSTNode):
                    parents[id(value)] = node
                    stack.append(value)

    def of(self, cls: type[N]) -> Sequence[N]:
        """Return every node of exactly this class."""
        return self._nodes.get(cls, ())

    def both(self, one: type[N], other: type[M]) -> list[N | M]:
        """Return every node of exactly one of two classes."""
        return [*self.of(one), *self.of(other)]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds this one; None for the module."""
        return self._parents.get(id(node))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parent, its parent, and so on up to the module."""
        above = self._parents.get(id(node))
        while above is not None:
            yield above
            above = self._parents.get(id(above))

    def enclosing(self, node: cst.CSTNode, cls: type[N]) -> N | None:
        """Return the nearest node of a class around this one."""
        return next((a for a in self.ancestors(node) if isinstance(a, cls)), None)

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of one node."""
        return self.module.code_for_node(node).strip()

    def spans(self, wanted: Sequence[cst.CSTNode]) -> dict[int, Span]:
        """Return the places of these nodes by their id, in one pass over the code."""
        state = _Places(self.module.default_indent, self.module.default_newline, wanted={id(n) for n in wanted})
        self.module._codegen(state)
        return state.spans()


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the code-holding children of a node."""
    cls = type(node)
    if cls not in _getters:
        _getters[cls] = _getter(cls)
    get = _getters[cls]
    for value in get(node) if get is not None else ():
        if isinstance(value, cst.CSTNode):
            yield value
        elif type(value) in (tuple, list):
            yield from value


class _Places(CodegenState):
    """Notes how many pieces of code had been written when a wanted node began and ended."""

    def __init__(self, indent: str, newline: str, *, wanted: set[int]) -> None:
        super().__init__(default_indent=indent, default_newline=newline)
        self._wanted = wanted
        self._marks: dict[int, tuple[int, int]] = {}
        self._open: list[tuple[int, int]] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self._wanted:
            self._open.append((id(node), len(self.tokens)))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self._wanted:
            key, start = self._open.pop()
            self._marks[key] = (start, len(self.tokens))

    def spans(self) -> dict[int, Span]:
        """Turn counts of pieces into lines and columns."""
        ends: list[int] = [0]
        for token in self.tokens:
            ends.append(ends[-1] + len(token))
        code = "".join(self.tokens)
        return {key: _span(code, ends[start], ends[end]) for key, (start, end) in self._marks.items()}


def _span(code: str, start: int, end: int) -> Span:
    """Place a piece of code, without the blank lines, comments and indentation that libcst counts to a statement."""
    while start < end:
        if code[start] == "#":
            start = code.find("\n", start) if "\n" in code[start:end] else end
        elif code[start] in " \t\r\n\f\\":
            start += 1
        else:
            break
    piece = code[start:end].rstrip()
    line = code.count("\n", 0, start) + 1
    return Span(line, start - code.rfind("\n", 0, start), line + piece.count("\n"))
