"""What is around a place, from the inside out, through the helpers that it stands in to where they are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import libcst as cst

from reviewer.nodes import children
from reviewer.scope import Function
from reviewer.script import Script

_HOPS = 4
_MOST_WAYS = 12
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)

Guard = tuple[str, bool]  # the test as it is written, and whether it must hold


@dataclass(frozen=True)
class Way:
    """`nodes` lead from a place outwards; where a function is left, the call of it comes next.

    `unseen`: it ends at a function that nothing in the file is seen to call. `guessed`: a method was found by its name.
    """

    nodes: tuple[cst.CSTNode, ...]
    unseen: bool
    guessed: bool

    @property
    def place(self) -> cst.CSTNode:
        """The innermost node."""
        return self.nodes[0]

    def upto(self, region: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """Return the nodes from the place to a region around it, both included."""
        return self.nodes[: next(n for n, node in enumerate(self.nodes) if node is region) + 1]


def ways(script: Script, place: cst.CSTNode) -> list[Way]:
    """Return the ways from a place to the top of the file, or to where they get lost."""
    done: list[Way] = []
    todo: list[tuple[tuple[cst.CSTNode, ...], int, bool]] = [((place,), 0, False)]
    while todo and len(done) < _MOST_WAYS:
        nodes, hops, guessed = todo.pop()
        function: Function | None = None
        above: list[cst.CSTNode] = []
        below = nodes[-1]
        for one in script.tree.ancestors(below):
            above.append(one)
            if isinstance(one, cst.FunctionDef | cst.Lambda) and below is one.body:
                function = one
                break
            below = one
        script.budget.spend(1 + len(above))
        whole = (*nodes, *above)
        sites = script.calls.sites.get(id(function), []) if function is not None else []
        if function is None:
            done.append(Way(whole, False, guessed))
        elif not sites or hops >= _HOPS or any(node is function for node in nodes):
            done.append(Way(whole, True, guessed))
        else:
            method = isinstance(script.scopes.of(function).node, cst.ClassDef)
            todo += [((*whole, call), hops + 1, guessed or method) for call, _ in sites[:_MOST_WAYS][::-1]]
    return done


def regions(nodes: tuple[cst.CSTNode, ...]) -> Iterator[cst.CSTNode]:
    """Yield the loops and functions that a way leaves, inside out; what starts a loop is not in it."""
    for below, above in pairwise(nodes):
        if isinstance(above, cst.For):
            inside = below is above.body
        elif isinstance(above, cst.While):
            inside = below is not above.orelse
        elif isinstance(above, _COMPREHENSIONS):
            inside = below is not above.for_in  # what a comprehension runs over is asked once
        else:
            inside = isinstance(above, cst.FunctionDef | cst.Lambda) and below is above.body
        if inside:
            yield above


def is_loop(node: cst.CSTNode) -> bool:
    """Tell whether what is in this runs again and again."""
    return isinstance(node, (cst.For, cst.While, *_COMPREHENSIONS))


def guards(script: Script, nodes: tuple[cst.CSTNode, ...]) -> dict[Guard, cst.CSTNode]:
    """Return what decides, on the way out of a region, whether its inside is reached; each with its test."""
    found: dict[Guard, cst.CSTNode] = {}
    for below, above in pairwise(nodes):
        match above:
            case cst.If(test=test, body=body, orelse=other) if below is body or below is other:
                found[script.tree.code(test), below is body] = test
            case cst.IfExp(test=test, body=body) if below is not test:
                found[script.tree.code(test), below is body] = test
            case cst.BooleanOperation(left=left, operator=operator, right=right) if below is right:
                found[script.tree.code(left), isinstance(operator, cst.And)] = left
            case cst.ExceptHandler() | cst.ExceptStarHandler() | cst.MatchCase():
                found[str(id(above)), True] = above
    return found


class Order:
    """Where places stand in a region, as keys that sort in the order in which they run."""

    def __init__(self) -> None:
        self._indices: dict[int, dict[int, int]] = {}

    def key(self, nodes: tuple[cst.CSTNode, ...]) -> tuple[int, ...]:
        """Return the key of the way from a place out to a region."""
        return tuple(self._index(above, below) for above, below in zip(nodes[::-1], nodes[-2::-1], strict=False))

    def _index(self, above: cst.CSTNode, below: cst.CSTNode) -> int:
        known = self._indices.get(id(above))
        if known is None:
            known = self._indices[id(above)] = {id(child): n for n, child in enumerate(children(above))}
        return known.get(id(below), -1)
