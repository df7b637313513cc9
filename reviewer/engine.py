"""One parse, one walk.

libcst's metadata providers cost ten times the parse on the files that people send. So the tree is walked once, by an
explicit stack, over the fields that hold code (whitespace, brackets and punctuation are left out; the field names are
found once per node class), and what the rules need is kept: each node by its class, and its parent. Positions are
found afterwards, only for what a rule has found (`places.py`).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from reviewer import gate
from reviewer.classes import ask_plainly
from reviewer.making import quickly
from reviewer.nodes import GETTERS, getter
from reviewer.places import Places, Span

N = TypeVar("N", bound=cst.CSTNode)
M = TypeVar("M", bound=cst.CSTNode)

ask_plainly()

_NOT_NODES = frozenset({type(None), str, bool, cst.MaybeSentinel})


class Tree:
    """A parsed script: its nodes by class, their parents, and, on demand, their places.

    `outside` are statements that run before the text and are not in it, so they have no place: a shell's.
    """

    def __init__(self, text: str, outside: Sequence[cst.CSTNode] = ()) -> None:
        self.text = text
        self.compiled: ast.Module | None = None
        self.outside = outside
        with quickly():
            self.module = cst.parse_module(text)
        self._nodes: dict[type, list[Any]] = defaultdict(list)
        self.parents: dict[int, cst.CSTNode] = {}  # id(node) -> the node that holds it; the module has none
        self._walk()

    def _walk(self) -> None:
        nodes, parents, getters = self._nodes, self.parents, GETTERS
        parents.update((id(statement), self.module) for statement in self.outside)
        stack: list[cst.CSTNode] = [*self.outside, self.module]
        while stack:
            node = stack.pop()
            cls = type(node)
            nodes[cls].append(node)
            try:
                get = getters[cls]
            except KeyError:
                get = getters[cls] = getter(cls)
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
                elif kind not in _NOT_NODES and isinstance(value, cst.CSTNode):
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
        return self.parents.get(id(node))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parent, its parent, and so on up to the module."""
        above = self.parents.get(id(node))
        while above is not None:
            yield above
            above = self.parents.get(id(above))

    def enclosing(self, node: cst.CSTNode, cls: type[N]) -> N | None:
        """Return the nearest node of a class around this one."""
        return next((a for a in self.ancestors(node) if isinstance(a, cls)), None)

    def is_outside(self, node: cst.CSTNode) -> bool:
        """Tell whether a node is not in the text, but in what runs before it."""
        known = {id(statement) for statement in self.outside}
        return bool(known) and (id(node) in known or any(id(above) in known for above in self.ancestors(node)))

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of one node."""
        return self.module.code_for_node(node).strip()

    def spans(self, wanted: Sequence[cst.CSTNode]) -> dict[int, Span]:
        """Return the places of these nodes by their id, without those of any other."""
        return self._places.of(wanted)

    @cached_property
    def _places(self) -> Places:
        return Places(self.text, self.module, self.parents)

    def syntax(self) -> ast.Module:
        """Return the compiler's tree, made when it is first needed: many texts are judged without it.

        Raises what the compiler raises.
        """
        if self.compiled is None:
            self.compiled = gate.syntax_of(self.text)
        return self.compiled
