"""Whether an expression is a parameter of a model, or an optimizer of its parameters."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.script import Script
from reviewer.values import Own

_LAYERS_OWN = frozenset({"weight", "bias"})
_LISTING = frozenset({"parameters", "named_parameters", "state_dict"})
_SAME = frozenset({"data", "detach", "view", "view_as", "flatten", "squeeze", "t", "T"})  # what shares the memory
_OPTIMIZER = re.compile(r"(^|_)(opts?|optims?|optimi[sz]ers?|optimi[sz]er\w*)(_|\d|$)", re.IGNORECASE)
_HOPS = 6


def is_parameter(script: Script, node: cst.CSTNode | None, hops: int = 0) -> bool:
    """Tell whether an expression is a parameter, or shares its memory: `self.head.weight.data[0]`, `p` of a loop."""
    if hops > _HOPS:
        return False
    match node:
        case cst.Attribute(value=base, attr=cst.Name(value=name)):
            if name in _SAME:
                return is_parameter(script, base, hops + 1)
            made = any(path.endswith("Parameter()") for path in script.values.paths(node))
            return made or (name in _LAYERS_OWN and not _is_buffer(script, name))
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))) if name in _SAME:
            return is_parameter(script, base, hops + 1)
        case cst.Call():
            paths = script.path_of(node)
            first = node.args[0].value if node.args else None
            return (
                "builtins.getattr" in paths
                and any(
                    isinstance(arg.value, cst.SimpleString) and arg.value.value[1:-1] in _LAYERS_OWN
                    for arg in node.args[1:2]
                )
            ) or ("builtins.next" in paths and first is not None and lists_parameters(script, first))
        case cst.Subscript(value=base):
            return is_parameter(script, base, hops + 1) or lists_parameters(script, base)
        case cst.Name(value=name):
            for binding in script.scopes.of(node).find(name)[:8]:
                if binding.kind == "expr" and is_parameter(script, binding.node, hops + 1):
                    return True
                if binding.kind == "drawn" and binding.node is not None and lists_parameters(script, binding.node):
                    return True
    return False


def _is_buffer(script: Script, name: str) -> bool:
    """Tell whether something of this name is a buffer of the script's own layers, and nothing of it a parameter."""
    for word in script.mentions.get("register_buffer", ()):
        call = script.tree.parent(script.tree.parent(word) or word)
        if isinstance(call, cst.Call) and call.args and script.values.constant(call.args[0].value) == name:
            return True
    return False


def lists_parameters(script: Script, node: cst.CSTNode, hops: int = 0) -> bool:
    """Tell whether this gives the parameters of a model one by one, also under another name or in a `zip`."""
    if hops > _HOPS:
        return False
    match node:
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))):
            return name in _LISTING or (
                name in ("values", "items")
                and isinstance(base, cst.Call | cst.Name)
                and lists_parameters(script, base, hops + 1)
            )
        case cst.Call(func=cst.Name(value="list" | "tuple" | "zip" | "enumerate" | "reversed" | "iter"), args=args):
            return any(lists_parameters(script, arg.value, hops + 1) for arg in args)
        case cst.ListComp(for_in=loop) | cst.GeneratorExp(for_in=loop):
            return lists_parameters(script, loop.iter, hops + 1)
        case cst.Name(value=name):
            bindings = script.scopes.of(node).find(name)[:8]
            return any(
                b.kind == "expr" and b.node is not None and lists_parameters(script, b.node, hops + 1) for b in bindings
            )
    return False


def is_optimizer(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is an optimizer: made by torch or by a class of the script, or named like one."""
    if isinstance(node, cst.Call) and any(makes_optimizer(script, value) for value in script.values.of(node.func)):
        return True
    if any(path.startswith("torch.optim.") and path.endswith("()") for path in script.values.paths(node)):
        return True
    name = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    if _OPTIMIZER.search(name) or name in ("scaler", "grad_scaler"):
        return True
    bindings = script.scopes.of(node).find(name) if isinstance(node, cst.Name) else script.scopes.members.get(name, ())
    return any(
        isinstance(b.node, cst.Call) and any(makes_optimizer(script, value) for value in script.values.of(b.node.func))
        for b in bindings[:8]
    )


def makes_optimizer(script: Script, value: object) -> bool:
    """Tell whether calling this makes an optimizer."""
    if isinstance(value, Own):
        return isinstance(value.node, cst.ClassDef) and any(
            "Optimizer" in path or path.startswith("torch.optim.")
            for base in value.node.bases
            for path in script.values.paths(base.value)
        )
    path = getattr(value, "path", "")
    made = path.rpartition(".")[2]
    return path.startswith("torch.optim.") and made[:1].isupper() and "lr_scheduler" not in path and "swa" not in path
