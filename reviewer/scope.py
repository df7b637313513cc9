"""Who binds which name where: scopes, aliases, parameters, attributes. Values are read from it by `values.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import libcst as cst

from reviewer.engine import Tree

Function = cst.FunctionDef | cst.Lambda
_DEFINITIONS = frozenset({cst.FunctionDef, cst.Lambda, cst.ClassDef})
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_OPENING = _DEFINITIONS.union(_COMPREHENSIONS)


@dataclass(frozen=True)
class Binding:
    """One way in which a name gets its value.

    `expr`: the value of `node`; `drawn`: unpacked, iterated or opened from `node`; `ref`: the imported dotted `path`;
    `def`: a function or class; `param`: a parameter, whose default (if any) is `node`.
    """

    kind: Literal["expr", "drawn", "ref", "def", "param"]
    node: cst.CSTNode | None
    scope: Scope
    path: str = ""


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension and the names it binds."""

    node: cst.CSTNode
    parent: Scope | None
    names: dict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal here
    stars: list[str] = field(default_factory=list)  # modules imported with *

    @cached_property
    def function(self) -> Function | None:
        """The function or lambda whose body this is, or is a comprehension in."""
        if isinstance(self.node, Function):
            return self.node
        return self.parent.function if self.parent is not None and isinstance(self.node, _COMPREHENSIONS) else None

    def find(self, name: str) -> Sequence[Binding]:
        """Return the bindings that a name read in this scope can mean; classes are invisible from within methods."""
        scope: Scope | None = self
        while scope is not None:
            if (scope is self or not isinstance(scope.node, cst.ClassDef)) and name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return ()


def _around(scope: Scope) -> Iterator[Scope]:
    """Yield the functions around a scope, from the inside out: what `nonlocal` may mean."""
    above = scope.parent
    while above is not None and above.parent is not None:
        if not isinstance(above.node, cst.ClassDef):
            yield above
        above = above.parent


class Scopes:
    """All scopes of a tree, and the attributes that are set anywhere in it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.module = Scope(tree.module, None)
        self._scopes: dict[int, Scope] = {id(tree.module): self.module}
        self._around: dict[int, Scope] = {}  # id(node) -> the scope it is in, for every node that has been asked about
        self.members: dict[str, list[Binding]] = defaultdict(list)  # attribute name -> what it may be
        self.returns: dict[int, list[cst.BaseExpression]] = defaultdict(list)  # id(function) -> returned expressions
        self._declare()
        self._bind_statements()
        self._bind_definitions()

    def of(self, node: cst.CSTNode) -> Scope:
        """Return the scope in which an expression is evaluated."""
        found = self._around.get(id(node))
        return self._search(node) if found is None else found

    def _search(self, node: cst.CSTNode) -> Scope:
        parents, known = self.tree.parents, self._around
        below, key = node, id(node)
        path: list[int] = []
        while key not in known:
            path.append(key)
            above = parents.get(key)
            kind = type(above)
            if above is None:
                found = self.module
                break
            if kind in _OPENING and (kind not in _DEFINITIONS or below is above.body):  # type: ignore[attr-defined]
                found = self.scope(above)
                break
            below, key = above, id(above)
        else:
            found = known[key]
        for step in path:
            known[step] = found
        return found

    def scope(self, node: cst.CSTNode) -> Scope:
        """Return the scope that a function, class, lambda or comprehension opens."""
        known = self._scopes.get(id(node))
        if known is None:
            known = self._scopes[id(node)] = Scope(node, self.of(node))
        return known

    def function_of(self, node: cst.CSTNode) -> Function | None:
        """Return the function or lambda whose body holds this node."""
        return self.of(node).function

    def all(self) -> Iterable[Scope]:
        """Return every scope that has been met."""
        return self._scopes.values()

    def everything(self) -> Iterator[tuple[str, list[Binding]]]:
        """Yield every name of every scope and every attribute, with what is bound to it there."""
        for scope in list(self._scopes.values()):
            yield from list(scope.names.items())
        yield from list(self.members.items())

    def _declare(self) -> None:
        for node in self.tree.both(cst.Global, cst.Nonlocal):
            self.of(node).outer.update(item.name.value for item in node.names)

    def _bind(self, name: str, binding: Binding) -> None:
        scope = binding.scope
        # `global` and `nonlocal` are not told apart: the name may mean either, and the audit wants every meaning.
        for home in (scope,) if name not in scope.outer else (*_around(scope), self.module):
            home.names[name].append(binding)
            if isinstance(home.node, cst.ClassDef):
                self.members[name].append(binding)

    def _target(self, target: cst.CSTNode, value: cst.CSTNode | None, scope: Scope, *, drawn: bool = False) -> None:
        if isinstance(target, cst.Name):
            self._bind(target.value, Binding("drawn" if drawn else "expr", value, scope))
        elif isinstance(target, cst.Attribute):
            self.members[target.attr.value].append(Binding("drawn" if drawn else "expr", value, scope))
        elif isinstance(target, cst.Tuple | cst.List):
            pairs = (
                isinstance(value, cst.Tuple | cst.List) and len(value.elements) == len(target.elements) and not drawn
            )
            for i, element in enumerate(target.elements):
                part = value.elements[i].value if pairs and isinstance(value, cst.Tuple | cst.List) else value
                self._target(element.value, part, scope, drawn=not pairs)

    def _bind_statements(self) -> None:
        tree = self.tree
        for assign in tree.of(cst.Assign):
            for target in assign.targets:
                self._target(target.target, assign.value, self.of(assign))
        for annotated in tree.of(cst.AnnAssign):
            if annotated.value is not None:
                self._target(annotated.target, annotated.value, self.of(annotated))
        for augmented in tree.of(cst.AugAssign):
            self._target(augmented.target, augmented.value, self.of(augmented), drawn=True)
        for walrus in tree.of(cst.NamedExpr):
            scope = self.of(walrus)
            while isinstance(scope.node, _COMPREHENSIONS) and scope.parent is not None:
                scope = scope.parent
            self._target(walrus.target, walrus.value, scope)
        for loop in tree.both(cst.For, cst.CompFor):
            self._target(loop.target, loop.iter, self.of(loop), drawn=True)
        for item in tree.of(cst.WithItem):
            if item.asname is not None:
                self._target(item.asname.name, item.item, self.of(item), drawn=True)
        for capture in tree.both(cst.MatchAs, cst.MatchStar):
            if capture.name is not None:
                self._bind(capture.name.value, Binding("drawn", None, self.of(capture)))
        for handler in tree.of(cst.ExceptHandler):
            if handler.name is not None:
                self._target(handler.name.name, None, self.of(handler), drawn=True)
        for returned in tree.of(cst.Return):
            function = self.function_of(returned)
            if function is not None and returned.value is not None:
                self.returns[id(function)].append(returned.value)

    def _bind_definitions(self) -> None:
        tree = self.tree
        for node in tree.both(cst.FunctionDef, cst.ClassDef):
            self._bind(node.name.value, Binding("def", node, self.of(node)))
        for function in tree.both(cst.FunctionDef, cst.Lambda):
            inside = self.scope(function)
            for param in parameters(function):
                self._bind(param.name.value, Binding("param", param.default, inside))
            if isinstance(function, cst.Lambda):
                self.returns[id(function)].append(function.body)
        for plain in tree.of(cst.Import):
            for alias in plain.names:
                path = dotted(alias.name)
                if alias.asname is not None:
                    self._bind(cst.ensure_type(alias.asname.name, cst.Name).value, self._ref(path, plain))
                else:
                    self._bind(path.split(".")[0], self._ref(path.split(".")[0], plain))
        for chosen in tree.of(cst.ImportFrom):
            module = "." * len(chosen.relative) + (dotted(chosen.module) if chosen.module is not None else "")
            if isinstance(chosen.names, cst.ImportStar):
                self.of(chosen).stars.append(module)
                continue
            for alias in chosen.names:
                name = alias.asname.name if alias.asname is not None else alias.name
                self._bind(dotted(name), self._ref(f"{module}.{dotted(alias.name)}", chosen))

    def _ref(self, path: str, node: cst.CSTNode) -> Binding:
        return Binding("ref", node, self.of(node), path)


def parameters(function: Function) -> list[cst.Param]:
    """Return every parameter, positional ones first, then keyword-only, then `*` and `**`."""
    p = function.params
    stars = [s for s in (p.star_arg, p.star_kwarg) if isinstance(s, cst.Param)]
    return [*p.posonly_params, *p.params, *p.kwonly_params, *stars]


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` for a chain of names, or an empty string."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(parts)]) if isinstance(node, cst.Name) else ""
