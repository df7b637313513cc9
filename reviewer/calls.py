"""A small call graph: which functions of the script can be reached from where.

Calls are resolved through names and aliases; a method is resolved by its name alone, since the types of objects are
not known. So the graph has edges that never happen, and misses only what is called through data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import libcst as cst

from reviewer.scope import Function, parameters
from reviewer.values import Own, Values

_STARTED_BY_CLASS = ("__init__", "__post_init__", "__call__", "forward")


class Calls:
    """Edges between the functions of one script. The key of the module itself is the id of its node."""

    def __init__(self, values: Values) -> None:
        tree, scopes = values.tree, values.scopes
        self._values = values
        self.sites: dict[int, list[tuple[cst.Call, Own]]] = defaultdict(list)  # id(function) -> who calls it
        self._edges: dict[int, set[int]] = defaultdict(set)
        self.functions: dict[int, Function] = {}
        for function in tree.both(cst.FunctionDef, cst.Lambda):
            self.functions[id(function)] = function
            outer = scopes.function_of(function)
            if outer is not None:
                self._edges[id(outer)].add(id(function))  # defined there, so probably used there
            for mark in function.decorators if isinstance(function, cst.FunctionDef) else ():
                for value in values.of(mark.decorator):
                    if isinstance(value, Own) and not isinstance(value.node, cst.ClassDef):
                        self._edges[id(function)].add(id(value.node))  # what it makes of it runs in its place
        for call in tree.of(cst.Call):
            holder = scopes.function_of(call)
            start = id(holder) if holder is not None else id(tree.module)
            for value in values.of(call.func):
                if isinstance(value, Own):
                    self.sites[id(value.node)].append((call, value))
                    self._edges[start].update(self._started(value.node))

    def _started(self, node: Function | cst.ClassDef) -> set[int]:
        if not isinstance(node, cst.ClassDef):
            return {id(node)}
        names = self._values.scopes.scope(node).names
        return {id(b.node) for name in _STARTED_BY_CLASS for b in names.get(name, ()) if b.kind == "def"}

    def reachable(self, starts: Iterable[cst.CSTNode], but: Collection[int] = ()) -> set[int]:
        """Return the ids of all functions that can run once one of these starts, themselves included.

        Functions whose ids are in `but` are not entered.
        """
        seen: set[int] = set(but)
        todo = [id(s) for s in starts]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(self._edges.get(node, ()))
        return seen.difference(but)

    def reaching(self, ends: Iterable[int]) -> set[int]:
        """Return the ids of all functions from which one of these, given by their ids, can be reached."""
        callers: dict[int, set[int]] = defaultdict(set)
        for start, called in self._edges.items():
            for one in called:
                callers[one].add(start)
        seen: set[int] = set()
        todo = list(ends)
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(callers.get(node, ()))
        return seen

    def arguments(self, helper: Function, call: cst.Call, own: Own) -> dict[str, cst.BaseExpression]:
        """Map the helper's parameters to the expressions of one call of it, with defaults filled in."""
        params = parameters(helper)
        scopes = self._values.scopes
        bound = isinstance(call.func, cst.Attribute) and isinstance(scopes.of(helper).node, cst.ClassDef)
        if bound and not _is_static(helper):
            params = params[1:]
        found = {p.name.value: p.default for p in params if p.default is not None}
        position = 0
        for arg in (*own.given, *call.args):
            if arg.keyword is not None:
                found[arg.keyword.value] = arg.value
            elif not arg.star and position < len(params):
                found[params[position].name.value] = arg.value
                position += 1
        return found


def _is_static(helper: Function) -> bool:
    marks = helper.decorators if isinstance(helper, cst.FunctionDef) else ()
    return any(isinstance(m.decorator, cst.Name) and m.decorator.value == "staticmethod" for m in marks)
