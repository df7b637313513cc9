"""Where a script computes a loss: the call, what is judged there, and the truth that it is judged by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.evaluation.targets import TARGET
from reviewer.matchers.named_calls import named_calls
from reviewer.script import Script

_LOSS = re.compile(r"\w*cross_entropy\w*|nll_loss|\w*(xent|_ce)(_loss)?|ce_loss|criterion|CrossEntropyLoss|NLLLoss")
_MADE = ("CrossEntropyLoss()", "NLLLoss()")
_LOSS_NAME = re.compile(r"(\w*_)?(loss|losses|nll|nlls|ce|xent|bpb|bits)(_\w+)?\d?$")
_SAME = frozenset(
    ["view", "reshape", "flatten", "long", "to", "contiguous", "squeeze", "unsqueeze", "int", "view_as", "expand",
     "repeat", "clone", "detach", "type", "cuda", "ravel", "expand_as", "clamp", "clamp_min"]
)  # fmt: skip
_TRUTH = frozenset({"target", "targets", "labels", "label", "y"})


@dataclass(frozen=True)
class Loss:
    """One call that computes a loss."""

    call: cst.Call
    judged: cst.BaseExpression
    truth: cst.BaseExpression


def losses(script: Script) -> dict[int, Loss]:
    """Return every such call by its id."""
    return {id(loss.call): loss for loss in _losses(script)}


def _losses(script: Script) -> Iterator[Loss]:
    for call, _ in named_calls(script, [w for w in script.mentions if _LOSS.fullmatch(w)]):
        if loss := loss_of(call):
            yield loss
    for path in script.called:
        if path.endswith(_MADE) or path.rpartition(".")[2] in ("cross_entropy", "nll_loss"):
            yield from (loss for call in script.called[path] if (loss := loss_of(call)))


def loss_of(call: cst.Call) -> Loss | None:
    """Return a loss call with its parts: by position, or by their usual names."""
    plain = [a.value for a in call.args if a.keyword is None and not a.star]
    named = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    judged = plain[0] if plain else named.get("input", named.get("logits"))
    truth = plain[1] if len(plain) > 1 else next((v for k, v in named.items() if k in _TRUTH), None)
    if len(plain) > 2:  # a fused loss: `fused_cross_entropy(x, weight, targets)`
        told = [p for p in plain[1:] if (r := root(p)) is not None and TARGET.match(r.value)]
        truth = told[0] if told else truth
    return Loss(call, judged, truth) if judged is not None and truth is not None else None


def root(node: cst.CSTNode | None) -> cst.Name | None:
    """Return the name that a truth is of, under views, slices and casts; the last word of an attribute."""
    while node is not None:
        match node:
            case cst.Name():
                return node
            case cst.Attribute(attr=attr):
                return attr
            case cst.Subscript(value=value):
                node = value
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=name))) if name in _SAME:
                node = value
            case _:
                return None
    return None


def is_loss_name(name: str) -> bool:
    """Tell whether a variable says by its name that it is a loss."""
    return bool(_LOSS_NAME.match(name))


def told_by_name(call: cst.Call) -> Loss | None:
    """Return the loss that a model computes itself, `loss = model(x, targets)`, by the names of its arguments."""
    for arg in call.args:
        name = root(arg.value)
        named = arg.keyword is not None and arg.keyword.value in _TRUTH
        if call.args[0] is not arg and name is not None and (named or TARGET.match(name.value)):
            return Loss(call, call.args[0].value, arg.value)
    return None
