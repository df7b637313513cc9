"""What outlives one call of a model: attributes of its layers, names of the module, closures, mutable defaults."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from reviewer.evaluation.modelled import Modelled
from reviewer.scope import Scope, dotted, parameters

# What gives another view of the same thing, and not a new one.
_VIEWS = frozenset(
    ["view", "view_as", "detach", "unbind", "narrow", "select", "squeeze", "unsqueeze", "transpose", "permute", "t",
     "expand", "get", "setdefault", "values", "items", "diagonal", "unflatten", "chunk", "split", "get_buffer",
     "get_parameter", "get_submodule", "buffers", "modules", "children", "named_buffers", "numpy", "reshape", "flatten",
     "ravel", "swapaxes", "movedim", "as_strided", "unfold", "untyped_storage", "alias"]
)  # fmt: skip
_SAME = frozenset({"data", "T", "mT", "__dict__"})
_LISTED = frozenset({"zip", "enumerate", "reversed", "iter", "list", "tuple"})
_FRESH = (cst.List, cst.Dict, cst.Set, cst.Call, cst.ListComp, cst.DictComp)
_HOPS = 4
_MOST_SITES = 8


@dataclass(frozen=True)
class Key:
    """Something that outlives a call: an attribute by its name, or a variable by its name and kind."""

    kind: str  # attribute, variable, closure, default
    name: str

    def __str__(self) -> str:
        what = {"attribute": "attribute", "variable": "module's", "closure": "enclosing function's"}.get(self.kind)
        return f"the {what} `{self.name}`" if what else f"the default of `{self.name}`"


class Kept:
    """Answers for one script."""

    def __init__(self, modelled: Modelled) -> None:
        self._modelled, self._script = modelled, modelled.script

    def of(self, node: cst.CSTNode | None, hops: int = 0) -> Key | None:
        """Return what of that kind an expression is, or is a view of."""
        if node is None or hops > _HOPS:
            return None
        self._modelled.budget.spend()
        match node:
            case cst.Subscript(value=base, slice=[cst.SubscriptElement(cst.Index(index))]):
                if key := self._named_part(base, index, hops):
                    return key
                return self.of(base, hops)
            case cst.Subscript(value=base):
                return self.of(base, hops)
            case cst.Attribute(value=base, attr=cst.Name(value=name)):
                if name in _SAME:
                    return self.of(base, hops)
                return Key("attribute", name) if self.outlives(base, hops) else None
            case cst.Call(func=cst.Name(value="getattr"), args=[cst.Arg(value=base), cst.Arg(value=named), *_]):
                name = self._script.values.constant(named)
                return Key("attribute", str(name)) if isinstance(name, str) and self.outlives(base, hops) else None
            case cst.Call(func=cst.Name(value=name), args=args) if name in _LISTED:
                return next((key for a in args if (key := self.of(a.value, hops + 1))), None)
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))) if name in _VIEWS:
                return self.of(base, hops)
            case cst.Call(func=cst.Name(value=name)) if self._is_remembered(node):
                return Key("variable", name)
            case cst.NamedExpr(value=value):
                return self.of(value, hops)
            case cst.Name():
                return self._name(node, hops)
        return None

    def _is_remembered(self, call: cst.Call) -> bool:
        """Tell whether a call gives the same thing each time: a function under `functools.cache` that makes a list."""
        for value in self._script.values.of(call.func):
            function = getattr(value, "node", None)
            if isinstance(function, cst.FunctionDef) and any(_is_cache(d.decorator) for d in function.decorators):
                return any(isinstance(r, _FRESH) for r in self._script.scopes.returns.get(id(function), ()))
        return False

    def outlives(self, node: cst.CSTNode, hops: int = 0) -> bool:
        """Tell whether an expression is an object that outlives a call, so that its attributes do."""
        match node:
            case cst.Call(func=cst.Name(value="type" | "vars"), args=[cst.Arg(value=base)]):
                return self.outlives(base, hops)
            case cst.Call(func=cst.Name(value="super")):
                return True
            case cst.Attribute(value=base, attr=cst.Name(value="__class__" | "__dict__")):
                return self.outlives(base, hops)
            case cst.Name() if self._is_owner(node):
                return True
        return self.of(node, hops) is not None

    def _named_part(self, base: cst.BaseExpression, index: cst.BaseExpression, hops: int) -> Key | None:
        """Read `vars(self)["seen"]`, `self.__dict__["seen"]` and `globals()["SEEN"]` as what they are."""
        name = self._script.values.constant(index)
        if not isinstance(name, str):
            name = "…"
        match base:
            case cst.Call(func=cst.Name(value="globals")):
                return Key("variable", name)
            case cst.Attribute(value=thing, attr=cst.Name(value="__dict__")) if self.outlives(thing, hops):
                return Key("attribute", name)
            case cst.Call(func=cst.Name(value="vars"), args=[cst.Arg(value=thing)]) if self.outlives(thing, hops):
                return Key("attribute", name)
        return None

    def _is_owner(self, node: cst.Name) -> bool:
        """Tell whether a name is the `self` of a method, seen from the method or from a function in it."""
        found = self._scope_of(node)
        if found is None or not isinstance(found.node, cst.FunctionDef):
            return False
        home = self._script.scopes.of(found.node).node
        first = parameters(found.node)[:1]
        if found.node.name.value in ("__get__", "__set__"):
            first = parameters(found.node)[1:2]  # the object whose attribute this is
        static = any(getattr(d.decorator, "value", "") == "staticmethod" for d in found.node.decorators)
        return isinstance(home, cst.ClassDef) and bool(first) and first[0].name.value == node.value and not static

    def _scope_of(self, node: cst.Name) -> Scope | None:
        scope: Scope | None = self._script.scopes.of(node)
        start = scope
        while scope is not None:
            if (scope is start or not isinstance(scope.node, cst.ClassDef)) and node.value in scope.names:
                return scope
            scope = scope.parent
        return None

    def _name(self, node: cst.Name, hops: int) -> Key | None:
        scope = self._scope_of(node)
        if scope is None:
            return None
        bindings = scope.names[node.value]
        if scope is self._script.scopes.module:
            return Key("variable", node.value)
        function = self._script.scopes.function_of(node)
        around = scope.node if scope.node is not function else None
        is_outer = isinstance(around, cst.FunctionDef) and id(around) not in self._modelled.inside
        if isinstance(around, cst.FunctionDef) and is_outer and not self._is_local(node, around):
            return Key("closure", node.value)
        keys = []
        for binding in bindings:
            if binding.kind == "param" and isinstance(scope.node, cst.FunctionDef):
                keys.append(self._parameter(node.value, binding.node, scope.node, hops))
            elif binding.kind in ("expr", "drawn") and not _is_none(binding.node):
                keys.append(self.of(binding.node, hops + 1))
        return keys[0] if keys and all(keys) else None

    def _is_local(self, node: cst.Name, maker: cst.FunctionDef) -> bool:
        """Tell whether a function inside a method uses what belongs to one run of the method, which is none of ours."""
        return not any(
            id(f) in self._modelled.inside
            for f in self._script.tree.ancestors(node)
            if isinstance(f, cst.FunctionDef) and f is not maker
        )

    def _parameter(self, name: str, default: cst.CSTNode | None, function: cst.FunctionDef, hops: int) -> Key | None:
        if isinstance(default, _FRESH):
            return Key("default", name)
        sites = self._script.calls.sites.get(id(function), ())
        for call, own in sites[:_MOST_SITES]:
            given = self._script.calls.arguments(function, call, own).get(name)
            if isinstance(given, cst.Name) and self._is_owner(given):
                return Key("attribute", "…")
            if key := self.of(given, hops + 1):
                return key
        return None


def _is_cache(decorator: cst.BaseExpression) -> bool:
    named = decorator.func if isinstance(decorator, cst.Call) else decorator
    return dotted(named).rpartition(".")[2] in ("cache", "lru_cache")


def _is_none(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"
