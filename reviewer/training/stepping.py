"""Where a script steps its optimizer, reports a step boundary, and waits for the device."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.fold import names_in
from reviewer.script import Script

BOUNDARY = "record_step_boundary"
_OPTIMIZER = re.compile(
    r"opt(?!ion)|adam|muon|sgd|soap|shampoo|lion|scaler|adafactor|adagrad|rmsprop|lbfgs|sophia", re.IGNORECASE
)
_NO_OPTIMIZER = re.compile(r"sched|prof|lr_|warmup", re.IGNORECASE)
_STEPS = ("torch_xla.core.xla_model.optimizer_step", "xm.optimizer_step")
SYNCHRONISING = frozenset(
    [f"torch.{device}.synchronize" for device in ("cuda", "xpu", "mps", "npu", "hpu", "accelerator", "neuron")]
    + ["torch_xla.sync", "torch_xla.core.xla_model.mark_step", "torch_xla.core.xla_model.wait_device_ops"]
)


def is_boundary(path: str) -> bool:
    """Tell whether this is the kit's step boundary, whatever the kit is called."""
    module, _, name = path.rpartition(".")
    return name == BOUNDARY and bool(module) and module not in ("builtins", "builtins.self")


def boundaries(script: Script) -> list[cst.Call]:
    """Return the calls of the kit's step boundary, in source order."""
    return [call for path, calls in script.called.items() if is_boundary(path) for call in calls]


def steps(script: Script) -> Iterator[tuple[cst.Call, cst.CSTNode | None]]:
    """Yield the calls that step an optimizer, with what is stepped where that is known."""
    for name in script.mentions.get("step", ()):
        attribute = script.tree.parent(name)
        if not isinstance(attribute, cst.Attribute) or attribute.attr is not name:
            continue
        call = script.tree.parent(attribute)
        if isinstance(call, cst.Call) and call.func is attribute and _is_optimizer(script, attribute.value):
            yield call, attribute.value
    yield from ((call, None) for _, call in script.calling(_STEPS))


def _is_optimizer(script: Script, node: cst.BaseExpression) -> bool:
    """Guess from the names of a thing, and of what it is made of, whether it is an optimizer."""
    names = names_in(node)
    last = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    if _NO_OPTIMIZER.search(last):
        return False
    if any(_OPTIMIZER.search(name) for name in names):
        return True
    bindings = script.scopes.of(node).find(last) if isinstance(node, cst.Name) else script.scopes.members.get(last, ())
    for binding in bindings[:4]:
        made = binding.node.func if isinstance(binding.node, cst.Call) else binding.node
        if isinstance(made, cst.Name | cst.Attribute) and any(_OPTIMIZER.search(n) for n in names_in(made)):
            return not any(_NO_OPTIMIZER.search(n) for n in names_in(made))
    return False


def is_over_optimizers(loop: cst.CSTNode, stepped: cst.CSTNode | None) -> bool:
    """Tell whether a loop goes through the optimizers of one step: `for optimizer in optimizers`."""
    targets = []
    if isinstance(loop, cst.For):
        targets = [loop.target]
    elif isinstance(loop, cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp):
        targets = [loop.for_in.target]
    return stepped is not None and any(names_in(target) & names_in(stepped) for target in targets)
