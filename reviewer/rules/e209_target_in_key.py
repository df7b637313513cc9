"""E209 target-in-key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.evaluation.behind import looks_past
from reviewer.evaluation.sees_later import sees_later
from reviewer.evaluation.truth_flow import TruthFlow
from reviewer.evaluation.truth_keys import TruthKeys
from reviewer.evaluation.truths import Truths, later
from reviewer.examples.target import HONEST, PEEKING
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.training.judged import is_loss_name, losses

_MOST_RETURNS = 8
_REMEDY = "Make it of the tokens before the one to be predicted; let targets enter the loss alone."


class TargetInKey(Rule):
    """Refuses predictions that are made of the token to be predicted.

    What it looks for
        Targets (by name, or as what a loss is computed against) that reach what a loss judges or what `forward`
        returns: through an embedding, an index, a `gather` from a table, arithmetic, a helper or a layer. Inputs that
        are shifted to the left on that way (`torch.roll(tokens, -1, 1)`, `F.pad(tokens[:, 1:], (0, 1))`). And tables
        that are read under a key of context and target together, anywhere in the script.

    Why it is refused
        Whoever knows the answer needs no model. A table that is asked for the true token alone gives a number that no
        distribution has: over all tokens, such ratios have summed to hundreds.

    Do instead
        Key tables by the tokens before, and read a whole distribution from them. Targets belong in the loss: in
        `cross_entropy`, in the `gather` of its log-probabilities, in what masks it. Counting next tokens of training
        text is fine.
    """

    code = "E209"

    VALID: ClassVar = HONEST
    INVALID: ClassVar = PEEKING

    def check(self, script: Script) -> Iterator[Found]:
        known = losses(script)
        truths = Truths(script, known)
        flow = TruthFlow(script, known, truths)
        places: dict[int, cst.CSTNode] = {}
        for loss in known.values():
            if not later(script, loss.truth):  # a head that predicts what comes after may read the next token
                _note(places, flow.entering(loss.judged, judged=True))
        for function in script.modelled.starts:
            if not is_loss_name(function.name.value):
                for returned in script.scopes.returns.get(id(function), [])[:_MOST_RETURNS]:
                    parts = [e.value for e in returned.elements] if isinstance(returned, cst.Tuple) else [returned]
                    for part in parts:
                        _note(places, flow.entering(part, judged=False))
        for node in places.values():
            what = "The token to be predicted is part of what predicts it: it enters the logits here."
            yield Found(node, what, _REMEDY)
        for node in TruthKeys(script, truths).looked_up():
            if id(node) not in places:
                what = "A table is read under a key that holds the token to be predicted."
                yield Found(node, what, _REMEDY)
        for node, what in sees_later(script):
            yield Found(
                node, what, "Let each place see itself and the ones before it, by a mask or `is_causal`.", "review"
            )
        for node in looks_past(script):
            what = "This looks past the tokens that the model is given, at what lies beside them in memory."
            yield Found(node, what, "Use the tokens alone, by indexing and slicing.", "review")


def _note(places: dict[int, cst.CSTNode], place: cst.CSTNode | None) -> None:
    if place is not None:
        places[id(place)] = place
