"""Whether an expression is a tensor out of a checkpoint or out of a model, and not a setting or a name beside it."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from reviewer.scope import Binding, Function
from reviewer.script import Script
from reviewer.training.learned import is_parameter

LOADS = frozenset([
    "torch.load", "torch.serialization.load", "safetensors.torch.load_file", "safetensors.torch.load", "numpy.load",
    "pickle.load", "pickle.loads", "torch.jit.load",
])  # fmt: skip
_BESIDE = re.compile(r"config|cfg|args|param_?s$|hyper|meta|settings|step|epoch|version|shape|vocab|names?$")
_MEASURES = frozenset(["shape", "size", "numel", "dim", "ndim", "dtype", "device", "keys", "element_size", "itemsize"])
_STATE = frozenset({"state_dict", "parameters", "named_parameters", "buffers", "named_buffers"})
_HOPS = 10
_SITES = 8


class Loaded:
    """Answers for one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._known: dict[tuple[str, int], bool] = {}
        self._asked: set[tuple[str, int]] = set()  # names on the way of one question, each followed once

    def is_weights(self, node: cst.CSTNode | None, hops: int = 0) -> bool:
        """Tell whether an expression holds weights: a state dict, one of its tensors, a parameter of a model."""
        if hops > _HOPS or node is None:
            return False
        self._script.budget.spend()
        match node:
            case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                name = self._script.values.constant(key)
                return not (isinstance(name, str) and _BESIDE.search(name)) and self.is_weights(base, hops + 1)
            case cst.Subscript(value=base):
                return self.is_weights(base, hops + 1)
            case cst.Attribute(value=base, attr=cst.Name(value=name)):
                if name in _MEASURES or _BESIDE.search(name):
                    return False
                return is_parameter(self._script, node) or self.is_weights(base, hops + 1)
            case cst.Call():
                return self._called(node, hops)
            case cst.Name():
                return self._named(node, hops)
            case cst.BinaryOperation(left=left, right=right):
                return self.is_weights(left, hops + 1) or self.is_weights(right, hops + 1)
            case cst.DictComp(for_in=loop) | cst.ListComp(for_in=loop) | cst.GeneratorExp(for_in=loop):
                return self.is_weights(loop.iter, hops + 1)
        return False

    def _called(self, node: cst.Call, hops: int) -> bool:
        if any(path in LOADS for path in self._script.path_of(node)):
            return True
        if isinstance(node.func, cst.Attribute):
            name = node.func.attr.value
            if name in _STATE:
                return True
            if name in _MEASURES:
                return False
            if self.is_weights(node.func.value, hops + 1):
                return True
        wrapping = isinstance(node.func, cst.Attribute) or "builtins.dict" in self._script.path_of(node)
        return wrapping and bool(node.args) and self.is_weights(node.args[0].value, hops + 1)

    def _named(self, node: cst.Name, hops: int) -> bool:
        bindings = self._script.scopes.of(node).find(node.value)
        if not bindings:
            return False
        key = (node.value, id(bindings[0].scope))
        if key in self._keys or key in self._asked:
            return False
        if key not in self._known:
            first = not self._asked
            self._asked.add(key)
            found = is_parameter(self._script, node) or any(self._bound(node.value, b, hops) for b in bindings[:_SITES])
            if found or first:  # a no in the middle of another question may only be for want of what is being asked
                self._known[key] = found
            if first:
                self._asked.clear()
            return found
        return self._known[key]

    def _bound(self, name: str, binding: Binding, hops: int) -> bool:
        if binding.kind in ("expr", "drawn"):
            return self.is_weights(binding.node, hops + 1)
        holder = binding.scope.node
        sites = self._script.calls.sites.get(id(holder), ()) if isinstance(holder, Function) else ()
        return binding.kind == "param" and any(
            self.is_weights(self._script.calls.arguments(holder, call, own).get(name), hops + 1)
            for call, own in sites[:_SITES]
            if isinstance(holder, Function)
        )

    @cached_property
    def _keys(self) -> set[tuple[str, int]]:
        """The names that loops over a dict bind to its keys, with their scopes."""
        found = set()
        for loop in self._script.tree.both(cst.For, cst.CompFor):
            match loop:
                case (
                    cst.For(target=cst.Tuple(elements=[first, _]), iter=over)
                    | cst.CompFor(target=cst.Tuple(elements=[first, _]), iter=over)
                ) if isinstance(first.value, cst.Name) and _ends_in(
                    over, ("items", "named_parameters", "named_buffers")
                ):
                    found.add((first.value.value, id(self._script.scopes.of(loop))))
                case (
                    cst.For(target=cst.Name(value=name), iter=over)
                    | cst.CompFor(target=cst.Name(value=name), iter=over)
                ) if not _ends_in(over, ("values", "parameters", "buffers")):
                    found.add((name, id(self._script.scopes.of(loop))))
        return found


def _ends_in(node: cst.CSTNode, methods: tuple[str, ...]) -> bool:
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.args:  # `list(state.items())`
        node = node.args[0].value
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in methods
