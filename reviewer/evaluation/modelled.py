"""Which functions of a script a scored model runs: what its `forward` reaches, and the methods of what it holds.

The call graph knows methods by their names alone, so an optimizer's `update` looks like a dict's. Methods of classes
that are no layers count only where a model, the module or `load_for_eval` makes such an object and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import libcst as cst

from reviewer.budget import Budget, TooMuch
from reviewer.scope import Function, dotted, parameters
from reviewer.script import Script

T = TypeVar("T")

_STEPS = 150_000  # of all rules that ask about models together; real scripts need a tenth
_DEEPEST = 2_000  # an operator chain of 500 is legal; names of names of names are not followed without end
_HOOKS = ("register_forward_hook", "register_forward_pre_hook")
_OPERATORS = ("matmul", "add", "sub", "mul", "truediv", "pow", "neg", "mod", "and", "or", "xor", "lshift", "rshift")
_UNNAMED = frozenset({"__get__", "__set__", *(f"__{way}{name}__" for name in _OPERATORS for way in ("", "r", "i"))})
_MAKING = frozenset({"__init__", "__post_init__", "__new__", "__init_subclass__"})


class Modelled:
    """The part of one script that runs when logits are asked for; `script.modelled`. It has a budget of its own."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.budget = Budget(_STEPS)
        self._layers: dict[int, bool] = {}
        self._depth = 0

    def following(self, step: Callable[..., T], *args: object) -> T:
        """Take one step of following an expression. Raises TooMuch where that leads too far or too deep."""
        self.budget.spend()
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise TooMuch
            return step(*args)
        finally:
            self._depth -= 1

    def is_layer(self, node: cst.CSTNode) -> bool:
        """Tell whether a class is a layer or a model: it has a `forward` of its own or from a base that is one."""
        if not isinstance(node, cst.ClassDef):
            return False
        if id(node) not in self._layers:
            self._layers[id(node)] = False  # a class that is its own base
            self._layers[id(node)] = self._may_forward(node)
        return self._layers[id(node)]

    def _may_forward(self, node: cst.ClassDef) -> bool:
        bases = [dotted(arg.value) for arg in node.bases]
        if any(base.rpartition(".")[2].endswith("Function") for base in bases):
            return False  # of autograd: its `forward` is a static function of a context
        if "forward" in self.script.scopes.scope(node).names:
            return True
        found = [b for base in bases for b in self.script.scopes.module.names.get(base.split(".")[0], ())]
        return any(
            self.is_layer(b.node) if b.kind == "def" and b.node is not None else b.path.startswith("torch.nn")
            for b in found
        )

    @cached_property
    def starts(self) -> list[cst.FunctionDef]:
        """The functions that the scorer's call enters: `forward`, hooks on it, what `load_for_eval` defines."""
        script, found = self.script, list[cst.FunctionDef]()
        makers = self._reached_by_loader
        for function in script.forwards:
            home = script.scopes.of(function).node
            if self.is_layer(home) or (
                function.name.value == "__call__" and any(maker in makers for maker in self._made_in(home))
            ):
                found.append(function)
        for function in script.tree.of(cst.FunctionDef):
            outer = script.scopes.function_of(function)
            if isinstance(outer, cst.FunctionDef) and outer.name.value == "load_for_eval":
                found.append(function)
        for word in _HOOKS:
            for name in script.mentions.get(word, ()):
                call = script.tree.parent(script.tree.parent(name) or name)
                if isinstance(call, cst.Call) and call.args:
                    found.extend(self._named(call.args[0].value))
        return found

    def _named(self, node: cst.BaseExpression) -> list[cst.FunctionDef]:
        """Return the functions that a plain name or a method's name can mean."""
        if isinstance(node, cst.Name):
            bindings = self.script.scopes.of(node).find(node.value)
        elif isinstance(node, cst.Attribute):
            bindings = self.script.scopes.members.get(node.attr.value, [])
        else:
            return []
        return [b.node for b in bindings if b.kind == "def" and isinstance(b.node, cst.FunctionDef)]

    def _made_in(self, home: cst.CSTNode) -> set[int]:
        sites = self.script.calls.sites.get(id(home), ())
        return {id(self.script.scopes.function_of(call)) for call, _ in sites}

    @cached_property
    def _reached_by_loader(self) -> set[int]:
        loaders = [f for f in self.script.forwards if f.name.value == "load_for_eval"]
        return self.script.calls.reachable(loaders) if loaders else set()

    @cached_property
    def inside(self) -> set[int]:
        """The ids of the functions that run when the scored model is called; what makes new objects is left out."""
        script = self.script
        if not self.starts:
            return set()
        functions = script.calls.functions
        homes = {key: script.scopes.of(f).node for key, f in functions.items()}
        foreign = {k for k, home in homes.items() if isinstance(home, cst.ClassDef) and not self.is_layer(home)}
        kept: dict[int, bool] = {}
        for key in foreign:
            home = homes[key]
            if id(home) not in kept:
                kept[id(home)] = self._is_kept(home)
        entered = {id(f) for f in self.starts}
        but = {key for key in foreign if not kept[id(homes[key])] and key not in entered}
        # `MEMORY @ x` and `self.last` call what nothing names.
        unnamed = [functions[k] for k in foreign - but if _name(functions[k]) in _UNNAMED]
        found = script.calls.reachable([*self.starts, *unnamed], but=but)
        return {
            k for k in found if not (isinstance(f := functions.get(k), cst.FunctionDef) and f.name.value in _MAKING)
        }

    def _is_kept(self, home: cst.CSTNode) -> bool:
        """Tell whether an object of this class outlives a call: the module, a layer or the loader makes one."""
        script = self.script
        for call, _ in script.calls.sites.get(id(home), ()):
            self.budget.spend()
            maker = script.scopes.function_of(call)
            if maker is None or id(maker) in self._reached_by_loader or self.is_layer(script.scopes.of(maker).node):
                return True
        return False

    def runs(self, node: cst.CSTNode) -> bool:
        """Tell whether a place lies in a function that the scored model runs."""
        return bool(self.inside) and id(self.script.scopes.function_of(node)) in self.inside

    def owner(self, node: cst.CSTNode) -> cst.Param | None:
        """Return the parameter, `self`, through which the method around a place knows its object."""
        function = self.script.scopes.function_of(node)
        while function is not None:
            home = self.script.scopes.of(function).node
            if isinstance(function, cst.FunctionDef) and isinstance(home, cst.ClassDef):
                static = any(dotted(d.decorator) == "staticmethod" for d in function.decorators)
                return next(iter(parameters(function)), None) if not static else None
            function = self.script.scopes.function_of(function)
        return None


def _name(function: Function) -> str:
    return function.name.value if isinstance(function, cst.FunctionDef) else ""
