"""What a run changes without giving it a new name: tensors in place, lists, attributes, what callers own.

A change reaches every name that may share memory with what is changed. What outlives the function (an argument, an
attribute, a name of the module) is kept beside as an *effect*, for nothing that is returned need show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.expressions import Expressions
from reviewer.evaluation.terms import EVERY, is_view
from reviewer.scope import dotted
from reviewer.script import Script

CHANGES = "changes"  # an effect: what is changed, and what it becomes
_FILLING = frozenset(["append", "extend", "insert", "update", "pop", "popitem", "clear", "setdefault", "appendleft"])
_FILLING_ALONE = frozenset(["add", "sort", "remove", "reverse", "discard"])  # tensors have methods of these names, too
_SPECIAL = re.compile(
    r"__(i(add|sub|mul|truediv|floordiv|pow|and|or|xor|mod|matmul)|setitem|delitem)__$"
    r"|^operator\.(i(add|sub|mul|truediv|floordiv|pow|and|or|xor|mod|matmul)|setitem|delitem)$"
)
_COLLECTIVE = frozenset({"all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor"})
_MOST_STEPS_BACK = 50


def changed_by(script: Script, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield the expressions whose values a call changes in place, as far as its name and its keywords say so."""
    first = [a.value for a in call.args if a.keyword is None and not a.star][:1]
    for arg in call.args:
        word = arg.keyword.value if arg.keyword is not None else ""
        if word == "out":
            yield arg.value
        elif word == "inplace" and script.values.constant(arg.value) is not False:
            yield from first
    match call.func:
        case cst.Attribute(value=base, attr=cst.Name(value=name)):
            alone = name in _FILLING_ALONE and isinstance(script.tree.parent(call), cst.Expr)
            if name in _COLLECTIVE:
                yield from first
            elif not (_changes(name) or name in _FILLING or alone):
                foreign = script.values.paths(call.func) if base and _names_operator(base) else ()
                yield from first if any(map(_SPECIAL.search, foreign)) else ()
            elif any("(" not in path for path in script.values.paths(base)):
                yield from first  # `torch.Tensor.mul_(x, 2)`
            else:
                yield base
        case cst.Call(func=cst.Name(value="getattr"), args=[cst.Arg(value=holder), cst.Arg(value=named), *_]):
            method = script.values.constant(named)
            if isinstance(method, str) and (_changes(method) or method in _FILLING):
                yield holder
        case cst.Name(value=name):
            paths = script.values.paths(call.func)
            if name.endswith("_") or any(_SPECIAL.search(p) or _changes(p.rpartition(".")[2]) for p in paths):
                yield from first


def _changes(name: str) -> bool:
    return (name.endswith("_") and not name.endswith("__") and len(name) > 1) or bool(_SPECIAL.search(name))


def _names_operator(base: cst.CSTNode) -> bool:
    return isinstance(base, cst.Name) and base.value not in ("self", "torch", "F")


class InPlace(Expressions):
    """Expressions whose calls and assignments change what other names hold."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.effects: dict[int, cst.CSTNode] = {}
        self.calls: dict[int, cst.Call] = {}

    def _call(self, node: cst.Call) -> int:
        value = super()._call(node)
        self.calls.setdefault(value, node)
        name = str(self.terms.get(value)[0])
        if isinstance(node.func, cst.Name) and name[0] == "." and _changes(name[1:]):
            self._spread(self.terms.parts(value)[0], value, node)  # `change = x.mul_`, and later `change(2)`
        for target in changed_by(self.script, node):
            self._change(target, value, node)
        if isinstance(node.func, cst.Name) and node.func.value == "setattr" and len(node.args) == 3:
            self._set(node)
        return value

    def _set(self, node: cst.Call) -> None:
        base, named, value = (arg.value for arg in node.args)
        name = self.script.values.constant(named)
        if not isinstance(name, str) or name == "data":
            self._change(base, self._eval(value), node)
            return
        given = self._eval(value)
        if whole := dotted(base):
            self._env[f"{whole}.{name}"] = given
        self._store(base, name, given, node)

    def _store(self, base: cst.CSTNode, name: str, value: int, node: cst.CSTNode) -> None:
        """Note that something has got an attribute."""
        holder = self._eval(base)
        self._affect(self.terms.make(("attr", holder, name)), value, node)
        if isinstance(base, cst.Name) and base.value != "self" and base.value in self._env:
            self._env[base.value] = self.terms.make(("store", holder, name, value), node)

    def _assign(self, target: cst.CSTNode, value: int) -> None:
        match target:
            case cst.Name(value=name):
                scope = self.script.scopes.of(target)
                if name in scope.outer:
                    self._affect(self.terms.make((f"#{name}",)), value, target)
                super()._assign(target, value)
            case cst.Attribute(value=base, attr=cst.Name(value="data")):
                self._change(base, value, target)
            case cst.Attribute(value=base, attr=cst.Name(value=name)):
                super()._assign(target, value)
                self._store(base, name, value, target)
            case cst.Subscript(value=base):
                if not dotted(base) and not isinstance(base, cst.Subscript):
                    self._change(base, value, target)  # `x.numpy()[0] = 1`
                    return
                held, before = self._held(base), self._eval(base)
                super()._assign(target, value)
                if held is not None:
                    self._spread(before, value, target, but=held)
            case _:
                super()._assign(target, value)

    def _change(self, target: cst.CSTNode, value: int, node: cst.CSTNode) -> None:
        """Give what an expression stands for, and what may share its memory, other numbers."""
        if isinstance(target, cst.List | cst.Tuple):
            for element in target.elements:
                self._change(element.value, value, node)
            return
        name = self._held(target)
        if name is None:
            self._spread(self._eval(target) if not isinstance(target, cst.Call) else value, value, node)
            return
        whole = name == dotted(target) and not self._is_filled(node)
        before = self._env[name] if name in self._env else self.terms.make((f"#{name}",))
        if "." in name and name not in self._env:
            base, _, last = name.rpartition(".")
            before = self.terms.make(("attr", self._named(base), last))
        if (
            before == self.terms.make(("tuple",))
            and isinstance(node, cst.Call)
            and dotted(node.func) == f"{name}.append"
        ):
            self._env[name] = self.terms.make((EVERY, self.terms.parts(value)[-1]))  # a list that was empty
            return
        self._env[name] = value if whole else self.terms.make(("changed", before, value), node)
        self._spread(before, value, node, but=name)

    def _named(self, name: str) -> int:
        """Return what a dotted name is."""
        if name in self._env:
            return self._env[name]
        base, _, last = name.rpartition(".")
        return self.terms.make(("attr", self._named(base), last)) if base else self.terms.make((f"#{name}",))

    def _is_filled(self, node: cst.CSTNode) -> bool:
        """Tell whether a call changes what an object holds, and gives something else as its value."""
        func = node.func if isinstance(node, cst.Call) else None
        name = func.attr.value if isinstance(func, cst.Attribute) else ""
        return not name.endswith("_") or name.endswith("__")

    def _held(self, node: cst.CSTNode) -> str | None:
        """Return the name under which this run keeps what an expression is a part or a view of."""
        for _ in range(_MOST_STEPS_BACK):
            match node:
                case cst.Name(value=name):
                    return name
                case cst.Attribute(value=base, attr=cst.Name(value=name)):
                    if name != "data" and (full := dotted(node)):
                        return full
                    node = base
                case cst.Subscript(value=base):
                    node = base
                case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name)), args=args):
                    mine, foreign = dotted(base) == "self", self._is_module(base)
                    if (not mine and not is_view(f".{name}") and not _changes(name)) or (
                        (mine or foreign) and not args
                    ):
                        return None  # a new tensor
                    node = args[0].value if mine or foreign else base
                case cst.Call(func=cst.Name(), args=[cst.Arg(value=given), *_]):
                    node = given
                case _:
                    return None
        return None

    def _spread(self, before: int, value: int, node: cst.CSTNode, but: str = "") -> None:
        """Change every name that may hold the same memory, and note what outlives this function."""
        terms = self.terms
        roots = terms.roots(before)
        terms.budget.spend(len(self._env) // 8)
        for name, other in list(self._env.items()):
            if name != but and other != value and terms.is_data(other) and roots & terms.roots(other):
                self._env[name] = value if other == before else terms.make(("changed", other, value), node)
        for root in roots:
            if str(terms.get(root)[0])[0] == "#" or terms.get(root)[0] == "attr":
                self._affect(root, value, node)

    def _affect(self, root: int, value: int, node: cst.CSTNode) -> None:
        self.effects.setdefault(self.terms.make((CHANGES, root, value)), node)
