"""E206 adapts-at-evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.evaluation.at_evaluation import at_evaluation, is_autograd
from reviewer.evaluation.training_only import only_in_training
from reviewer.examples.adapting import ADAPTING, HONEST
from reviewer.files.held_out import made_of_held_out
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.training.adapting import Learning, learning

_REMEDY = "Train before the checkpoint is written; the model that is scored only computes."
_TRAINING_ALONE = "Learn from the training split alone; no score counts text that the model has learned from."
_WHAT = {
    "gradient": "Gradients are computed here on the way to scored logits.",
    "step": "An optimizer is at work here on the way to scored logits.",
    "update": "Parameters are changed here while the model is asked for logits.",
    "allowed": "Gradients are switched on here on the way to scored logits.",
}


class AdaptsAtEvaluation(Rule):
    """Refuses models that go on learning while they are scored.

    What it looks for
        `backward()`, `torch.autograd.grad`, the transforms of `torch.func`, and optimizers that are made or take a
        step, in what `load_for_eval` runs and in what the model runs that it returns: `forward`, hooks on it, what
        it calls, inherits or hands on; and parameters that the model changes in place. Anywhere in the file, gradients
        of a loss on held-out text: files and splits that are held out are followed to it. A person looks where
        gradients are merely switched on, where a function of autograd computes them ahead of its backward pass, and
        where `self.training` or its like stands around it. The backward pass itself, checkpointing, parameters that
        are rescaled in training alone, and methods that `forward` does not reach are no findings.

    Why it is refused
        A model that learns from the text it is asked about is no longer the one that was trained, and its answers
        depend on what it was asked before.

    Do instead
        Train before the checkpoint is written. What a model picks up from a row, it has to compute in `forward`.
    """

    code = "E206"

    VALID: ClassVar = HONEST
    INVALID: ClassVar = ADAPTING

    def check(self, script: Script) -> Iterator[Found]:
        certain: set[int] = set()
        doubtful: list[Found] = []
        seen: set[int] = set()
        for one in learning(script):
            holder = _holder(script, one.node)
            if id(one.node) in seen:
                continue
            if not _runs(script, one, holder):
                if one.kind == "gradient" and (given := _given(one.node)) and made_of_held_out(script, given):
                    seen.add(id(one.node))
                    yield Found(one.node, "What is learned here is learned from held-out text.", _TRAINING_ALONE)
                continue
            seen.add(id(one.node))
            trained = only_in_training(script, one.node)
            if trained and one.kind in ("update", "allowed"):
                continue
            by_hand = (
                one.kind == "gradient" and holder is not None and is_autograd(script, script.scopes.of(holder).node)
            )
            if trained or by_hand or one.kind == "allowed":
                doubtful.append(Found(one.node, _WHAT[one.kind], _REMEDY, "review"))
            else:
                certain.add(id(holder))
                yield Found(one.node, _WHAT[one.kind], _REMEDY)
        for found in doubtful:
            if found.what != _WHAT["allowed"] or id(_holder(script, found.node)) not in certain:
                yield found


def _given(node: cst.CSTNode) -> cst.CSTNode | None:
    """Return what gradients are computed of: `loss` of `loss.backward()` and of `torch.autograd.grad(loss, …)`."""
    if isinstance(node, cst.Attribute):
        return node.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "backward":
        return node.func.value
    return node.args[0].value if isinstance(node, cst.Call) and node.args else None


def _runs(script: Script, one: Learning, holder: Function | None) -> bool:
    """Tell whether a place runs on the way to scored logits; parameters are filled in before that by right."""
    return one.kind == "update" or id(holder) in at_evaluation(script)


def _holder(script: Script, node: cst.CSTNode) -> Function | None:
    """Return the function that a place belongs to; a decorator belongs to what it decorates."""
    mark = script.tree.enclosing(node, cst.Decorator)
    decorated = script.tree.parent(mark) if mark is not None else None
    return decorated if isinstance(decorated, cst.FunctionDef) else script.scopes.function_of(node)
