"""E202 eval-only-model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.evaluation.at_evaluation import loaders
from reviewer.evaluation.built_for_scoring import built
from reviewer.evaluation.judged_otherwise import judged
from reviewer.evaluation.overridden import overridden
from reviewer.evaluation.set_for_scoring import settings
from reviewer.evaluation.weight_edits import edits
from reviewer.examples.decoding import MORE, PLAIN
from reviewer.examples.judged import AS_SCORED, OTHERWISE
from reviewer.examples.scoring import CHANGED, SAME
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script


class EvalOnlyModel(Rule):
    """Refuses a model that becomes another one on the way through `load_for_eval`.

    What it looks for
        In `load_for_eval`, and in what nothing else calls: classes with a `forward` of their own and layers of torch
        that the training does not build, functions around the model, other constant arguments than those of the
        training, a replaced `forward` or `__class__`, hooks, parametrizations and conversions, numbers that the model
        computes with, and arithmetic on weights between the checkpoint and the model. A person looks at arithmetic of
        one part of a checkpoint with another, and at classes that decode quantised weights. One product of integers out
        of the checkpoint with their scales is told, and stops nothing, where the training divides and rounds in the
        same way. Casts, moves, `torch.compile`, other names of weights, and wrappers that hand out the logits as they
        are, are fine. The other way round, a person looks where the training's loss is computed of another method than
        `forward`, or of logits with a factor, a temperature or a bias on top, and where the training gives `forward`
        another number than its default, or sets a number on the model that scoring does not find; and at a model's own
        `__call__`, `eval` without `super()`, and `to`, `load_state_dict` or the like that set what it computes with.

    Why it is refused
        One model is trained, and another one is scored. No loss curve has seen it, and what it gains is fitted to
        the score.

    Do instead
        Build the model as in training, load the weights, return it.
    """

    code = "E202"

    VALID: ClassVar = (*SAME, *AS_SCORED, *PLAIN)
    INVALID: ClassVar = (*CHANGED, *OTHERWISE, *MORE)

    def check(self, script: Script) -> Iterator[Found]:
        if not loaders(script):
            return
        said: set[int] = set()
        for found in (*built(script), *settings(script), *edits(script), *judged(script), *overridden(script)):
            if id(found.node) not in said:
                said.add(id(found.node))
                yield found
