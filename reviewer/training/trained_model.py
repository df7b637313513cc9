"""Which expressions are the model: an object of one of the script's layers, under whatever name, wrapped or not."""

from __future__ import annotations

import libcst as cst

from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.values import Own

_HOPS = 6
_MOST = 8
# These hand out what they were given, or something around it that computes the same.
_WRAPPING = frozenset({"compile", "DistributedDataParallel", "DataParallel", "DDP", "FullyShardedDataParallel", "FSDP"})
_SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "bfloat16", "float", "half", "double", "requires_grad_"})
_INNER = frozenset({"module", "_orig_mod"})


def class_of(script: Script, node: cst.CSTNode | None, hops: int = 0) -> cst.ClassDef | None:
    """Return the layer of which an expression is an object; None where it is none, or nobody knows."""
    script.budget.spend()
    if node is None or hops > _HOPS:
        return None
    match node:
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))) if name in _SAME:
            return class_of(script, base, hops + 1)
        case cst.Call(func=made, args=args):
            for value in script.values.of(made):
                if isinstance(value, Own) and isinstance(value.node, cst.ClassDef):
                    return value.node if script.modelled.is_layer(value.node) else None
            wraps = any(path.rpartition(".")[2] in _WRAPPING for path in script.path_of(node))
            return class_of(script, args[0].value, hops + 1) if wraps and args else None
        case cst.Attribute(value=base, attr=cst.Name(value=name)) if name in _INNER:
            return class_of(script, base, hops + 1)
        case cst.Name(value=name):
            return _named(script, node, name, hops)
    return None


def _named(script: Script, node: cst.Name, name: str, hops: int) -> cst.ClassDef | None:
    for binding in script.scopes.of(node).find(name)[:_MOST]:
        script.budget.spend()
        if binding.kind == "expr" and (found := class_of(script, binding.node, hops + 1)):
            return found
        function = binding.scope.node
        if binding.kind != "param" or not isinstance(function, cst.FunctionDef):
            continue
        for call, own in script.calls.sites.get(id(function), ())[:_MOST]:
            given = script.calls.arguments(function, call, own).get(name)
            if given is not node and (found := class_of(script, given, hops + 1)):
                return found
    return None


def method_of(script: Script, cls: cst.ClassDef, name: str) -> cst.FunctionDef | None:
    """Return a method that a class itself defines."""
    bindings = script.scopes.scope(cls).names.get(name, ())
    return next((b.node for b in bindings if isinstance(b.node, cst.FunctionDef)), None)


def given_to(function: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """Map the parameters of a method to what a call of its object gives; None where a star hides it."""
    if any(arg.star for arg in call.args):
        return None
    names = [p.name.value for p in parameters(function)[1:]]
    plain = [arg.value for arg in call.args if arg.keyword is None]
    found = dict(zip(names, plain, strict=False))
    return found | {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
