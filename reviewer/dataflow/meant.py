"""What an expression can be, also where it comes out of a list, a loop, a pattern or a parameter of a helper."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.scope import Binding
from reviewer.script import Script
from reviewer.values import Value

_HOPS = 4
_MOST_ELEMENTS = 64
_STEPS = 16  # what one call of a helper costs
_PASSING_ON = (
    "builtins.enumerate",
    "builtins.zip",
    "builtins.iter",
    "builtins.list",
    "builtins.tuple",
    "builtins.reversed",
)


class Meant:
    """Resolves expressions of one script further than its values do; remembers what a parameter is given."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._given: dict[tuple[int, str], list[Value]] = {}

    def of(self, node: cst.CSTNode | None, hops: int = 0) -> list[Value]:
        """Return everything that a node can stand for, as far as it can be read."""
        script = self._script
        found = list(script.values.of(node))
        if hops > _HOPS or node is None:
            return found
        match node:
            case cst.Name():
                for binding in script.scopes.of(node).find(node.value)[:8]:
                    found.extend(self._bound(node.value, binding, hops))
            case cst.Subscript(value=whole):
                for element in self._elements(whole):
                    found.extend(self.of(element, hops + 1))
        return list(dict.fromkeys(found))

    def _bound(self, name: str, binding: Binding, hops: int) -> Iterator[Value]:
        function = binding.scope.node
        if binding.kind == "drawn" and binding.node is None:
            for subject in self._subjects(name, function):
                yield from self.of(subject, hops + 1)
        elif binding.kind == "drawn":
            for element in self._elements(binding.node):
                yield from self.of(element, hops + 1)
        elif binding.kind == "param" and isinstance(function, cst.FunctionDef | cst.Lambda):
            key = (id(function), name)
            if key not in self._given:
                self._given[key] = []  # a helper that calls itself adds nothing
                given: dict[Value, None] = {}
                for site, own in self._script.calls.sites.get(id(function), ()):
                    self._script.budget.spend(_STEPS)
                    argument = self._script.calls.arguments(function, site, own).get(name)
                    given.update(dict.fromkeys(self.of(argument, hops + 1)))
                self._given[key] = list(given)
            yield from self._given[key]

    def _elements(self, node: cst.CSTNode | None) -> list[cst.CSTNode]:
        """Return the parts of a list, a tuple, a set or a dict that is written out, nested ones as well."""
        script, found = self._script, list[cst.CSTNode]()
        todo: list[tuple[cst.CSTNode | None, int]] = [(node, 0)]
        while todo and len(found) < _MOST_ELEMENTS:
            one, depth = todo.pop()
            if depth > _HOPS:
                continue
            match one:
                case cst.Tuple() | cst.List() | cst.Set() | cst.Dict():
                    script.budget.spend()
                    for element in one.elements[:_MOST_ELEMENTS]:
                        inner = element.value
                        nested = isinstance(inner, cst.Tuple | cst.List | cst.Dict)
                        todo.append((inner, depth + 1)) if nested else found.append(inner)
                case cst.Name():
                    bindings = script.scopes.of(one).find(one.value)
                    todo += [(b.node, depth + 1) for b in bindings[:8] if b.kind == "expr"]
                case cst.Call(func=cst.Attribute(value=whole, attr=cst.Name(value="values" | "items" | "keys"))):
                    todo.append((whole, depth + 1))
                case cst.Call() if any(path in _PASSING_ON for path in script.path_of(one)):
                    todo += [(arg.value, depth + 1) for arg in one.args]
        return found

    def _subjects(self, name: str, home: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what a name of a pattern is taken from: `torch` of `match torch: case t`."""
        script = self._script
        for capture in script.tree.of(cst.MatchAs):
            if capture.name is not None and capture.name.value == name:
                whole = script.tree.enclosing(capture, cst.Match)
                if whole is not None and script.scopes.of(whole).node is home:
                    yield whole.subject
