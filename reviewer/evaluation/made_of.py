"""Whether an expression is made of what a tensor holds, or only of its shape, its type, settings and weights.

Followed backwards from the expression alone, through the names it is made of and the calls that give a parameter.
"""

from __future__ import annotations

import re

import libcst as cst

from reviewer.evaluation.modelled import Modelled
from reviewer.nodes import children
from reviewer.scope import Binding

_SHAPE = frozenset(
    ["shape", "device", "dtype", "ndim", "is_cuda", "layout", "itemsize", "size", "dim", "numel", "stride", "type",
     "element_size", "get_device", "data_ptr", "nelement", "ndimension"]
)  # fmt: skip
_BY_SHAPE = frozenset(
    ["len", "isinstance", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty", "new_full",
     "hasattr", "callable", "id", "type"]
)  # fmt: skip
_A_SIZE = re.compile(
    r"(\w*(len|length|size|dim|width|heads?|device|dtype|layer|idx_layer|step|steps|offset|window|base|theta|ratio|eps)"
    r"|n|t|T|B|D|H|L|max_\w+|num_\w+|n_\w+|block_\w+|\w+_config|config|cfg)$"
)
_A_TYPE = re.compile(r"\b(int|bool|float|str|device|dtype|Size|Device|DType)\b")
_HOPS = 4
_MOST_SITES = 12


class MadeOf:
    """Answers for one script, and remembers."""

    def __init__(self, modelled: Modelled) -> None:
        self._modelled, self._script = modelled, modelled.script
        self._known: dict[int, bool] = {}

    def data(self, node: cst.CSTNode | None, hops: int = 0) -> bool:
        """Tell whether the numbers in a tensor that the model is given decide about this expression."""
        if node is None:
            return False
        if id(node) not in self._known:
            self._known[id(node)] = False  # what is made of itself adds nothing
            self._known[id(node)] = self._modelled.following(self._is_data, node, hops)
        return self._known[id(node)]

    def _is_data(self, node: cst.CSTNode, hops: int) -> bool:
        match node:
            case cst.Name():
                return self._name(node, hops)
            case cst.Attribute(value=base, attr=attr):
                return attr.value not in _SHAPE and self.data(base, hops)
            case cst.Call(func=cst.Name(value=name)) if name in _BY_SHAPE:
                return False
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) if name in _SHAPE or name in _BY_SHAPE:
                return False
            case cst.Call(func=func, args=args):
                thing = func.value if isinstance(func, cst.Attribute) else None
                return self.data(thing, hops) or any(self.data(a.value, hops) for a in args)
            case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.Is() | cst.IsNot(), _)]) | cst.Lambda():
                return False
        return any(self.data(child, hops) for child in children(node))

    def _name(self, node: cst.Name, hops: int) -> bool:
        for binding in self._script.scopes.of(node).find(node.value):
            if binding.scope is self._script.scopes.module:
                continue
            if binding.kind == "param":
                if self._parameter(node.value, binding, hops):
                    return True
            elif binding.kind in ("expr", "drawn") and self.data(binding.node, hops):
                return True
        return False

    def _parameter(self, name: str, binding: Binding, hops: int) -> bool:
        script, function = self._script, binding.scope.node
        if name in ("self", "cls") or not isinstance(function, cst.FunctionDef | cst.Lambda) or _A_SIZE.match(name):
            return False
        for param in (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params):
            known = param.annotation if param.name.value == name else None
            if known is not None and _A_TYPE.search(script.tree.code(known.annotation)):
                return False
        sites = script.calls.sites.get(id(function), ())
        if not sites or hops >= _HOPS or len(sites) > _MOST_SITES:
            return True
        given = [script.calls.arguments(function, call, own).get(name) for call, own in sites]
        return any(self.data(g, hops + 1) for g in given) or all(g is None for g in given)
