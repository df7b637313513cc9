"""Whether what a function does beside its result can reach the logits: changes of arguments, attributes and modules.

What is printed, counted or kept for a log reaches nothing that the model reads. A function of the file is looked into,
any other one that is called for its effect alone is taken to matter, unless it is known not to.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.evaluation.flow import Run
from reviewer.evaluation.in_place import CHANGES, changed_by
from reviewer.evaluation.oracles import Watched
from reviewer.evaluation.outcomes import is_record
from reviewer.evaluation.terms import Terms
from reviewer.evaluation.training_only import only_in_training
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.training.trained_model import class_of, method_of
from reviewer.values import Own

_QUIET = (
    "builtins.print", "builtins.len", "builtins.isinstance", "builtins.super", "logging.", "warnings.", "sys.stdout.",
    "sys.stderr.", "time.", "math.", "torch._check", "torch._assert", "torch._dynamo.", "torch.compiler.",
    "torch.cuda.synchronize", "torch.cuda.empty_cache", "torch.cuda.nvtx.", "torch.cuda.reset_", "torch.profiler.",
    "torch.autograd.profiler.", "torch.distributed.barrier", "torch.cuda.current_stream", "wandb.",
)  # fmt: skip
# Of loggers, streams, profilers, and of tensors whose gradient is watched.
_QUIET_METHODS = frozenset([
    "debug", "info", "warning", "error", "log", "write", "flush", "register_hook", "retain_grad", "wait", "synchronize",
    "record", "record_stream", "range_push", "range_pop", "mark_step", "append", "extend", "insert", "update", "pop",
    "popitem", "clear", "setdefault", "appendleft", "add", "sort", "remove", "reverse", "discard", "backward",
])  # fmt: skip
_WEIGHTS = frozenset(
    {"data", "weight", "bias", "training", "__dict__", "_parameters", "_buffers", "_modules"}
)  # read by torch's own layers
_HOPS = 4
_LOUD: WeakKeyDictionary[Script, dict[int, bool]] = WeakKeyDictionary()


def matters(script: Script, terms: Terms, number: int, node: cst.CSTNode, hops: int = 0) -> bool:
    """Tell whether an effect of a run, or a call that it makes, may change what the model computes."""
    script.budget.spend()
    term = terms.get(number)
    if term[0] == CHANGES:
        if len(term) == 3 and term[1] == term[2]:
            return False  # noise, or a cast
        return _is_read(script, terms, term[1], node)
    return isinstance(node, cst.Call) and _is_loud_call(script, node, hops)


def _is_read(script: Script, terms: Terms, root: int, node: cst.CSTNode) -> bool:
    """Tell whether the model reads what is changed: an attribute of itself, or a name of the module, by its name."""
    term = terms.get(root)
    if term[0] == "attr":
        name = str(term[2])
        if is_record(script, str(terms.get(term[1])[0])):
            return False  # it is what the function gives out, and looked at there
        if name in _WEIGHTS or str(terms.get(term[1])[0])[0] != "#":
            return True
    elif str(term[0])[1:] in script.scopes.module.names:
        name = str(term[0])[1:]
    else:
        return True  # what the caller has given
    return any(
        script.modelled.runs(use) and not _is_written(script, use) and not only_in_training(script, use)
        for use in script.mentions.get(name, ())
    )


def _is_written(script: Script, name: cst.Name) -> bool:
    """Tell whether a name stands here to be set, filled or counted up, and not to be read."""
    node: cst.CSTNode = name
    above = script.tree.parent(node)
    while isinstance(above, cst.Attribute) and above.attr is node:
        node, above = above, script.tree.parent(above)
    while isinstance(above, cst.Subscript) and above.value is node:
        node, above = above, script.tree.parent(above)
    match above:
        case cst.AssignTarget() | cst.Del() | cst.NameItem():
            return True
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            return target is node
        case cst.Attribute(value=base) if base is node:
            call = script.tree.parent(above)
            alone = isinstance(call, cst.Call) and isinstance(script.tree.parent(call), cst.Expr)
            return alone and isinstance(call, cst.Call) and any(one is node for one in changed_by(script, call))
    return False


def _is_loud_call(script: Script, call: cst.Call, hops: int) -> bool:
    own = _called(script, call)
    if own:
        return any(_is_loud(script, function, hops + 1) for function in own)
    if not isinstance(script.tree.parent(call), cst.Expr):
        return False
    if any(path.startswith(_QUIET) for path in script.path_of(call)):
        return False
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _QUIET_METHODS:
        return False
    return not any(True for _ in changed_by(script, call))  # those are followed by the run itself


def _called(script: Script, call: cst.Call) -> list[Function]:
    """Return the functions of the file that a call runs, the `forward` of a layer among them."""
    found: list[Function] = []
    for value in script.values.of(call.func):
        if isinstance(value, Own) and isinstance(value.node, Function):
            found.append(value.node)
    if not found and isinstance(call.func, cst.Name | cst.Attribute):
        layer = class_of(script, call.func)
        forward = method_of(script, layer, "forward") if layer is not None else None
        found += [forward] if forward is not None else []
    return found


def _is_loud(script: Script, function: Function, hops: int) -> bool:
    """Tell whether a function of the file has an effect that matters, in training or in evaluation."""
    known = _LOUD.setdefault(script, {})
    if id(function) not in known:
        known[id(function)] = hops > _HOPS  # one that calls itself adds nothing; one too deep is not followed
        known[id(function)] = hops > _HOPS or any(
            _runs_loud(script, function, answer, hops) for answer in (True, False)
        )
    return known[id(function)]


def _runs_loud(script: Script, function: Function, evaluating: bool, hops: int) -> bool:
    terms = Terms(script.budget)
    run = Run(script, terms, Watched(oracles=False), lambda question: evaluating)
    run.function(function)
    return any(matters(script, terms, n, node, hops) for n, node in (*run.effects.items(), *run.calls.items()))
