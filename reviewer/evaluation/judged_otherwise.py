"""Where the training judges other logits than those that the scorer gets when it calls the model with tokens alone.

The scorer calls `model(tokens)`. So the loss has to be computed of what that returns: not of another method's result,
not of logits that have become others on the way to the loss, not of a call that gives `forward` another number than
its default, and not of a model on which the training alone has set a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.evaluation.at_evaluation import only_for_scoring
from reviewer.evaluation.built_for_scoring import SETTING
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.matchers.attributes import stores
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.training.trained_model import class_of, given_to, method_of

_LOSSES = ("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss()")
# The same numbers in another shape, order or precision, and what cross entropy does by itself.
_SHAPES = frozenset([
    "flatten", "view", "reshape", "float", "double", "half", "bfloat16", "to", "type", "contiguous", "transpose",
    "permute", "mT", "T", "unflatten", "squeeze", "unsqueeze", "movedim", "swapaxes", "clone", "log_softmax",
])  # fmt: skip
_CHANGING = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
_HOPS = 10
_MOST = 8
_REMEDY = "Make it a part of the model's `forward`, which is what the scorer calls, or leave it out."


def judged(script: Script) -> Iterator[Found]:
    """Yield where a loss of the training judges something else than what the scorer will get."""
    for _, call in script.calling(_LOSSES):
        first = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "input"), None)
        if first is not None and not script.modelled.runs(call):
            yield from _traced(script, first, None, 0)
    yield from _given(script)
    yield from _set(script)


def _traced(script: Script, node: cst.CSTNode, changed: cst.CSTNode | None, hops: int) -> Iterator[Found]:
    """Follow logits back to the model that has made them."""
    script.budget.spend()
    if hops > _HOPS:
        return
    match node:
        case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, _CHANGING):
            sums = isinstance(operator, cst.Add | cst.Subtract)
            for side, other in ((left, right), (right, left)):
                same = sums and _is_nothing(script, other)
                yield from _traced(script, side, changed if same else changed or node, hops + 1)
        case cst.Subscript(value=base):
            yield from _traced(script, base, changed, hops + 1)
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))) if name in _SHAPES:
            plain = any("(" not in path for path in script.values.paths(base))  # `torch.flatten(x)`
            inner = node.args[0].value if node.args and plain else base
            yield from _traced(script, inner, changed, hops + 1)
        case cst.Call():
            yield from _called(script, node, changed, hops)
        case cst.Name(value=name):
            yield from _named(script, node, name, changed, hops)


def _is_nothing(script: Script, node: cst.CSTNode, hops: int = 0) -> bool:
    """Tell whether a term is zero, and only there so that every weight has a gradient: `0.0 * unused.sum()`."""
    script.budget.spend()
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return any(script.values.constant(side) == 0 or _is_nothing(script, side, hops) for side in (left, right))
        case cst.Call(func=cst.Attribute(value=base)) if hops < _HOPS:
            return _is_nothing(script, base, hops + 1)
        case cst.Call(args=[cst.Arg(value=cst.GeneratorExp(elt=each) | cst.ListComp(elt=each)), *_]):
            return _is_nothing(script, each, hops + 1)
        case cst.Name(value=name) if hops < _HOPS:
            bindings = script.scopes.of(node).find(name)[:_MOST]
            return bool(bindings) and all(
                b.node is not None and _is_nothing(script, b.node, hops + 1) for b in bindings
            )
    return False


def _called(script: Script, node: cst.Call, changed: cst.CSTNode | None, hops: int) -> Iterator[Found]:
    base: cst.BaseExpression = node.func
    name = "forward"
    if isinstance(node.func, cst.Attribute) and class_of(script, node.func.value):
        base, name = node.func.value, node.func.attr.value
    model = class_of(script, base)
    if model is None:
        return
    if changed is not None:
        what = "The loss is computed of logits that are changed here, and the scorer gets them as the model makes them."
        yield Found(changed, what, _REMEDY, "review")
    elif name != "forward" and (other := method_of(script, model, name)):
        forward = method_of(script, model, "forward")
        if forward is not None and not _hands_out(script, forward, other.name.value) and not _judges(script, forward):
            what = f"The loss is computed of `{name}`, and the scorer calls `forward`, which computes something else."
            yield Found(node, what, _REMEDY, "review")


def _judges(script: Script, forward: cst.FunctionDef) -> bool:
    """Tell whether `forward` has a loss in it: then that is trained, and both ways through it are compared."""
    return any(script.scopes.function_of(call) is forward for _, call in script.calling(_LOSSES))


def _hands_out(script: Script, forward: cst.FunctionDef, name: str) -> bool:
    """Tell whether one of the results of `forward` is just what that method of the model gives."""
    return any(_is_method(script, returned, name, 0) for returned in script.scopes.returns.get(id(forward), ()))


def _is_method(script: Script, node: cst.CSTNode | None, name: str, hops: int) -> bool:
    script.budget.spend()
    if hops > _HOPS:
        return False
    match node:
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=called))):
            return called == name or (called in _SHAPES and _is_method(script, base, name, hops + 1))
        case cst.Subscript(value=base):
            return _is_method(script, base, name, hops + 1)
        case cst.IfExp(body=one, orelse=other):
            return _is_method(script, one, name, hops + 1) or _is_method(script, other, name, hops + 1)
        case cst.Tuple(elements=elements):
            return any(_is_method(script, each.value, name, hops + 1) for each in elements[:_MOST])
        case cst.Name(value=word):
            bindings = script.scopes.of(node).find(word)
            return any(
                _is_method(script, b.node, name, hops + 1) for b in bindings[:_MOST] if b.kind in ("expr", "drawn")
            )
    return False


def _named(script: Script, node: cst.Name, name: str, changed: cst.CSTNode | None, hops: int) -> Iterator[Found]:
    """Follow a name to what it is set to, and a parameter to what is given for it."""
    for binding in script.scopes.of(node).find(name)[:_MOST]:
        function = binding.scope.node
        if binding.kind in ("expr", "drawn") and binding.node is not None:
            yield from _traced(script, binding.node, changed, hops + 1)
        elif binding.kind == "param" and isinstance(function, cst.FunctionDef):
            for call, own in script.calls.sites.get(id(function), ())[:_MOST]:
                if given := script.calls.arguments(function, call, own).get(name):
                    yield from _traced(script, given, changed, hops + 1)


def _given(script: Script) -> Iterator[Found]:
    """Find calls of the training that give `forward` another number than its default, which the scorer leaves."""
    for forward in script.modelled.starts:
        home = script.scopes.of(forward).node
        defaults = {p.name.value: script.values.constant(p.default) for p in parameters(forward)[1:] if p.default}
        defaults = {name: value for name, value in defaults.items() if _is_number(value) and not SETTING.search(name)}
        if not defaults or not isinstance(home, cst.ClassDef) or forward.name.value not in ("forward", "__call__"):
            continue
        only = only_for_scoring(script)
        for call in script.tree.of(cst.Call):
            if not call.args or script.modelled.runs(call) or id(script.scopes.function_of(call)) in only:
                continue
            base: cst.CSTNode = (
                call.func.value
                if isinstance(call.func, cst.Attribute) and call.func.attr.value == "forward"
                else call.func
            )
            if not isinstance(base, cst.Name | cst.Attribute) or class_of(script, base) is not home:
                continue
            for name, node in (given_to(forward, call) or {}).items():
                value = script.values.constant(node)
                if name in defaults and _is_number(value) and value != defaults[name]:
                    what = f"`{name}` is {value!r} in training, and {defaults[name]!r} where the scorer leaves it out."
                    yield Found(node, what, _REMEDY, "review")


def _set(script: Script) -> Iterator[Found]:
    """Find numbers that only the training puts on the model from outside, where scoring finds others."""
    only = only_for_scoring(script)
    every = [s for s in stores(script) if s.name and not s.by_key and _is_number(script.values.constant(s.value))]
    scored = {s.name for s in every if id(script.scopes.function_of(s.node)) in only}
    known: dict[str, _Usual | None] = {}
    for store in every:
        function, name = script.scopes.function_of(store.node), store.name or ""
        if function is None or id(function) in only or name in scored or script.modelled.runs(store.node):
            continue
        if name not in known:
            known[name] = _usual(script, name)
        value, usual = script.values.constant(store.value), known[name]
        other = usual.other_than(value, store.value) if usual is not None else None
        if other is not None and _is_on_model(script, store.base):
            what = f"`{name}`, which the model computes with, is {value!r} in training alone, else {other!r}."
            yield Found(store.node, what, _REMEDY, "review")


@dataclass(frozen=True)
class _Usual:
    """The numbers that an attribute is set to in the whole script, and how often to each."""

    values: Counter[float]
    nodes: frozenset[int]

    def other_than(self, value: float, node: cst.CSTNode | None) -> float | None:
        """Return what it is elsewhere; None where that is nothing, or the same at one place."""
        at_least = 1 if id(node) in self.nodes else 0
        if self.values[value] > at_least:
            return None
        return next((one for one in self.values if one != value), None)


def _usual(script: Script, name: str) -> _Usual | None:
    """Return what an attribute is set to, if that is always a number, and the model reads it."""
    bindings = script.scopes.members.get(name, ())
    if SETTING.search(name) or not any(script.modelled.runs(node) for node in script.mentions.get(name, ())):
        return None
    values = [script.values.constant(one.node) if one.kind == "expr" else None for one in bindings]
    if not all(map(_is_number, values)):
        return None
    return _Usual(Counter(v for v in values if v is not None), frozenset(id(one.node) for one in bindings))


def _is_on_model(script: Script, base: cst.CSTNode) -> bool:
    if class_of(script, base) is not None:
        return True
    return any(script.modelled.is_layer(v.node) for v in script.values.of(base) if hasattr(v, "node"))


def _is_number(value: object) -> bool:
    return value is not UNKNOWN and isinstance(value, int | float) and not isinstance(value, bool)
