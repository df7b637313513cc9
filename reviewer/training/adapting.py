"""Every place where something is learned: gradients, optimizers, parameters that are changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from reviewer.dataflow.uses import taken, used
from reviewer.script import Script
from reviewer.training.learned import is_optimizer, is_parameter, lists_parameters, makes_optimizer
from reviewer.values import Own

_GRADIENTS = frozenset(
    ["torch.autograd.grad", "torch.autograd.backward", "torch.autograd.forward_ad.dual_level"]
    + [f"torch.autograd.functional.{name}" for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")]
    + [
        f"{home}.{name}"
        for home in ("torch.func", "functorch")
        for name in ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize")
    ]
)
_ALLOWING = frozenset({"torch.enable_grad", "torch.set_grad_enabled", "torch.inference_mode"})
IN_PLACE = frozenset([
    "add_", "sub_", "subtract_", "mul_", "multiply_", "div_", "divide_", "copy_", "lerp_", "addcmul_", "addcdiv_",
    "addmm_", "baddbmm_", "fill_", "zero_", "set_", "clamp_", "clip_", "pow_", "neg_", "normal_", "uniform_",
    "index_add_", "index_copy_", "index_fill_", "scatter_", "scatter_add_", "masked_fill_", "masked_scatter_",
    "index_put_", "put_", "exponential_", "round_", "sign_", "sqrt_", "square_", "renorm_", "relu_", "tanh_",
    "sigmoid_",
])  # fmt: skip
_BACKWARD = frozenset({"backward"})
_STEP = frozenset({"step"})

Kind = Literal["gradient", "step", "update", "allowed"]


@dataclass(frozen=True)
class Learning:
    """One place where something is learned, or where that is merely made possible."""

    node: cst.CSTNode
    kind: Kind


def learning(script: Script) -> Iterator[Learning]:
    """Yield the places of a whole script, whoever runs them; of changed parameters, those in a model's functions."""
    for _, node in taken(script, _BACKWARD):
        if not isinstance(node, cst.Attribute) or not _is_class(script, node.value):
            yield Learning(_called(script, node), "gradient")
    for _, node in used(script, _GRADIENTS):
        yield Learning(node, "gradient")
    for _, call in script.calling(("operator.methodcaller.backward()", "operator.methodcaller.step()")):
        yield Learning(call, "gradient")
    for _, node in taken(script, _STEP):
        base = node.value if isinstance(node, cst.Attribute) else _first(node)
        if base is not None and is_optimizer(script, base):
            yield Learning(_called(script, node), "step")
    for path, calls in script.called.items():
        if path.startswith("torch.optim.") and calls:
            yield from (Learning(call, "step") for call in calls if _makes_one(script, call))
        elif path.startswith("torch._foreach_") and path.endswith("_"):
            yield from (Learning(call, "update") for call in calls if _lists(script, call))
    for cls in script.tree.of(cst.ClassDef):
        if cls.bases and makes_optimizer(script, Own(cls)):
            yield from (Learning(call, "step") for call, _ in script.calls.sites.get(id(cls), ()))
    yield from _updates(script)
    for path, node in used(script, _ALLOWING):
        first = _first(node)
        given = script.values.constant(first) if first is not None else None
        wanted = {"torch.enable_grad": None, "torch.set_grad_enabled": True, "torch.inference_mode": False}[path]
        if isinstance(node, cst.Call) and given is wanted:
            yield Learning(node, "allowed")


def _updates(script: Script) -> Iterator[Learning]:
    """Find parameters that are changed: by a method that ends in `_`, by `+=`, by a new `.data` or `.weight`."""
    runs = script.modelled.runs
    for method in sorted(IN_PLACE & script.mentions.keys()):
        for name in script.mentions[method]:
            whole = script.tree.parent(name)
            if (
                isinstance(whole, cst.Attribute)
                and whole.attr is name
                and runs(name)
                and is_parameter(script, whole.value)
            ):
                yield Learning(_called(script, whole), "update")
    for augmented in script.tree.of(cst.AugAssign):
        if runs(augmented) and is_parameter(script, augmented.target):
            yield Learning(augmented, "update")
    for assign in script.tree.of(cst.Assign):
        for one in assign.targets:
            target = one.target
            kind = type(target)
            if (kind is cst.Attribute or kind is cst.Subscript) and runs(assign) and is_parameter(script, target):
                yield Learning(assign, "update")


def _called(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    """Return the call of a method, or the method where it is only taken."""
    above = script.tree.parent(node)
    return above if isinstance(above, cst.Call) and above.func is node else node


def _first(node: cst.CSTNode) -> cst.BaseExpression | None:
    return node.args[0].value if isinstance(node, cst.Call) and node.args else None


def _is_class(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is a class of the script, as in `Fused.backward(ctx, gradient)`."""
    return any(isinstance(v, Own) and isinstance(v.node, cst.ClassDef) for v in script.values.of(node))


def _makes_one(script: Script, call: cst.Call) -> bool:
    return any(makes_optimizer(script, value) for value in script.values.of(call.func))


def _lists(script: Script, call: cst.Call) -> bool:
    return bool(call.args) and lists_parameters(script, call.args[0].value)
