"""Whether weights are only decoded on the way to scoring: integers out of the checkpoint times their scales, once.

Whatever is a product of two parts of a checkpoint could have been written into it, so it gives scoring nothing of its
own, as long as the training encodes its weights in this way, and nothing else is done to them.
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from reviewer.evaluation.at_evaluation import only_for_scoring
from reviewer.evaluation.loaded import LOADS
from reviewer.fold import names_in
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.values import Own

_CASTS = frozenset({"float", "half", "bfloat16", "double", "to", "type"})
_SHAPES = frozenset([
    "view", "reshape", "unsqueeze", "squeeze", "contiguous", "flatten", "expand", "item", "cpu", "cuda", "detach",
    "get", "pop", "items", "values", "clone",
])  # fmt: skip
_GOING_THROUGH = frozenset({"list", "dict", "sorted", "enumerate", "float", "zip", "tuple"})
_INTEGERS = frozenset({"int8", "uint8", "int16", "char", "short", "int32"})
_ROUNDING = frozenset({"round", "rint", "round_"})
_HOPS = 12
_MOST = 8


class RoundTrip:
    """Answers for one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._asked: set[tuple[str, int]] = set()  # the names on the way of one question

    def is_plain(self, node: cst.CSTNode) -> bool:
        """Tell whether a computation is the decoding, and nothing but it."""
        match node:
            case cst.BinaryOperation(left=one, operator=cst.Multiply(), right=other):
                pass
            case cst.Call(func=cst.Attribute(attr=cst.Name("mul")), args=[cst.Arg(value=one), cst.Arg(value=other)]):
                pass
            case cst.Call(func=cst.Attribute(value=one, attr=cst.Name("mul")), args=[cst.Arg(value=other)]):
                pass
            case _:
                return False
        if not self._encodes or self._is_part_of_more(node):
            return False
        self._asked.clear()
        return any(map(self._is_cast, (one, other))) and all(self._is_read(side, node, 0) for side in (one, other))

    @cached_property
    def _encodes(self) -> bool:
        """Whether the training rounds to integers what it has divided by something."""
        script, only = self._script, only_for_scoring(self._script)
        trained = script.calls.reachable([script.tree.module]) - only
        for word in sorted(_ROUNDING & script.mentions.keys()):
            for name in script.mentions[word]:
                function = script.scopes.function_of(name)
                if function is None or id(function) not in trained or not names_in(function.body) & _INTEGERS:
                    continue
                if any(script.scopes.function_of(one) is function for one in self._divisions):
                    return True
        return False

    @cached_property
    def _divisions(self) -> list[cst.BinaryOperation]:
        every = self._script.tree.of(cst.BinaryOperation)
        return [one for one in every if isinstance(one.operator, cst.Divide)]

    def _is_part_of_more(self, node: cst.CSTNode) -> bool:
        """Tell whether something else is computed of the product in the same statement."""
        for above in self._script.tree.ancestors(node):
            match above:
                case cst.BinaryOperation() | cst.UnaryOperation():
                    return True
                case cst.Call(func=cst.Attribute(value=cst.Call() | cst.BinaryOperation(), attr=cst.Name(value=name))):
                    if name not in _CASTS | _SHAPES:
                        return True
                case cst.AugAssign():
                    return True
                case cst.BaseSmallStatement() | cst.BaseCompoundStatement():
                    return False
        return False

    def _is_cast(self, node: cst.CSTNode, hops: int = 0) -> bool:
        """Tell whether an operand was cast to a float on its way from the file."""
        match node:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))):
                return name in _CASTS or (hops < _HOPS and self._is_cast(base, hops + 1))
            case cst.Name(value=name) if hops < _HOPS:
                bound = self._script.scopes.of(node).find(name)
                return any(b.kind == "expr" and b.node and self._is_cast(b.node, hops + 1) for b in bound[:_MOST])
        return False

    def _is_read(self, node: cst.CSTNode | None, product: cst.CSTNode, hops: int) -> bool:
        """Tell whether an expression is a part of a checkpoint as it was read, cast and reshaped at most."""
        self._script.budget.spend()
        if node is None or hops > _HOPS:
            return False
        match node:
            case cst.Subscript(value=base):
                return self._is_read(base, product, hops + 1)
            case cst.Call():
                return self._is_call_read(node, product, hops)
            case cst.Name(value=name):
                bound = [b for b in self._script.scopes.of(node).find(name) if b.node is not product]
                if not bound or len(bound) > _MOST:
                    return False
                if (key := (name, id(bound[0].scope))) in self._asked:
                    return True  # `scale = scale.float()`
                self._asked.add(key)
                for one in bound:
                    holder = one.scope.node
                    if one.kind == "param" and isinstance(holder, Function):
                        sites = self._script.calls.sites.get(id(holder), ())
                        given = [self._script.calls.arguments(holder, call, own).get(name) for call, own in sites]
                        if not given or not all(self._is_read(g, product, hops + 1) for g in given[:_MOST]):
                            return False
                    elif one.kind not in ("expr", "drawn") or not self._is_read(one.node, product, hops + 1):
                        return False
                return True
        return False

    def _is_call_read(self, node: cst.Call, product: cst.CSTNode, hops: int) -> bool:
        if any(path in LOADS for path in self._script.path_of(node)):
            return True
        own = [v.node for v in self._script.values.of(node.func) if isinstance(v, Own)]
        if own:
            returns = [r for f in own for r in self._script.scopes.returns.get(id(f), ())]
            return bool(returns) and all(self._is_read(r, product, hops + 1) for r in returns[:_MOST])
        match node.func:
            case cst.Attribute(value=base, attr=cst.Name(value=name)) if name in _CASTS | _SHAPES:
                return self._is_read(base, product, hops + 1)
            case cst.Name(value=name) if name in _GOING_THROUGH and node.args:
                return all(self._is_read(arg.value, product, hops + 1) for arg in node.args[:_MOST])
        return False
