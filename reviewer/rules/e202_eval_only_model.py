"""E202 eval-only-model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.rules.at_evaluation import loaders
from reviewer.rules.base import Found, Rule
from reviewer.rules.built_for_scoring import built
from reviewer.rules.scoring_examples import CHANGED, SAME
from reviewer.rules.set_for_scoring import settings
from reviewer.rules.weight_edits import edits
from reviewer.script import Script


class EvalOnlyModel(Rule):
    """Refuses a model that becomes another one on the way through `load_for_eval`.

    What it looks for
        In `load_for_eval`, and in what nothing else calls: classes with a `forward` of their own and layers of torch
        that the training does not build, functions around the model, other constant arguments than those of the
        training, a replaced `forward` or `__class__`, hooks, parametrizations and conversions, numbers that the
        model computes with, and arithmetic on weights between the checkpoint and the model. A person looks at
        arithmetic of one part of a checkpoint with another, and at classes that decode quantised weights. Casts,
        moves, `torch.compile`, other names of weights, and wrappers that hand out the logits as they are, are fine.

    Why it is refused
        One model is trained, and another one is scored. No loss curve has seen it, and what it gains is fitted to
        the score.

    Do instead
        Build the model as in training, load the weights, return it.
    """

    code = "E202"

    VALID: ClassVar = SAME
    INVALID: ClassVar = CHANGED

    def check(self, script: Script) -> Iterator[Found]:
        if not loaders(script):
            return
        said: set[int] = set()
        for found in (*built(script), *settings(script), *edits(script)):
            if id(found.node) not in said:
                said.add(id(found.node))
                yield found
