"""E201 eval-fork."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.evaluation.forks import Fork
from reviewer.evaluation.lent_forward import lent_forwards
from reviewer.evaluation.refreshed import refreshes_constants
from reviewer.examples import hidden_question, in_place, likelihood, ways_round
from reviewer.examples.eval_fork import ONE_MODEL, TWO_MODELS
from reviewer.examples.fork import FIXED
from reviewer.found import Found
from reviewer.repairs.arms import unified
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script

_STEPS_OF_A_PLACE = 4
# The guilty places of a function that name what the training alone changes: all its forks ask for them.
_MARKED: WeakKeyDictionary[Script, dict[int, list[tuple[cst.CSTNode, str]]]] = WeakKeyDictionary()


class EvalFork(Rule):
    """Refuses models that compute other logits in evaluation than in training.

    What it looks for
        Questions whose answer differs between training and scoring: `self.training`, `torch.is_grad_enabled()`,
        `is_inference_mode_enabled()`, an `eval` or `inference` parameter, `__name__`, `targets is None`, an attribute
        that only `load_for_eval` or the model's own `eval()` sets, a name of the module that only the training
        changes. And oracles, when a model asks them: whether a tensor wants a gradient, files, `sys`, callers, the
        clock, the number of threads, a dropout of a constant. Both answers are followed through the function, and the
        logits that come out are compared; so are errors that only one of the answers can raise, helpers, lambdas,
        methods that run unnamed, and what `__name__` has made of attributes and defaults. A person looks where one
        path alone changes something in place that the audit cannot follow to the logits. A function of the file that
        is named like a kernel, noise or a cast, and has nothing of the kind in it, is taken for what it does.

    Why it is refused
        One model, one arithmetic: what is scored must be what was trained. A second arm in the forward pass is a
        second model, which no loss curve has seen.

    Do instead
        Compute the logits before the question, and let it decide about the loss alone. Dropout, checkpointing, noise
        and fake quantisation during training are fine, and are only noted. A state that the training comes to and
        `load_for_eval` sets again is told, and stops nothing.
    """

    code = "E201"

    VALID: ClassVar = (
        "import torch\nclass A(torch.nn.Module):\n    forward: object\n    def forward(self, x):\n        return x\n",
        "class Runner:\n    def run(self):\n        pass\n    __call__ = run\n",
        *ONE_MODEL,
        *in_place.ALIKE,
        *hidden_question.ALIKE,
        *ways_round.ALIKE,
        *likelihood.ALIKE,
    )
    INVALID: ClassVar = (
        "from torch import nn\nclass A(nn.Module):\n    def f(s, x):\n        return x\n    forward = f  # ! review\n",
        "import torch\nclass A(torch.nn.Module):\n    forward: object = lambda self, x: x  # ! review\n",
        "import torch\nclass A(torch.nn.Module):\n    act = lambda self, x: x if self.training else x * 1.1  # !\n"
        "    def forward(self, x):\n        return self.act(self.head(x))\n",
        *TWO_MODELS,
        *in_place.FORKS,
        *hidden_question.FORKS,
        *ways_round.FORKS,
        *likelihood.FORKS,
    )
    FIXED: ClassVar = FIXED

    def check(self, script: Script) -> Iterator[Found]:
        for fork in script.forks:
            if fork.kind == "fork":
                what, remedy = _parted(script, fork)
                yield Found(fork.where, what, remedy, fix=unified(script, fork))
            elif fork.kind == "doubt" and refreshes_constants(script, fork.where):
                what = f"`{fork.function}` fills a cache of constants anew where inference mode has filled it."
                yield Found(fork.where, what, "Nothing to do.", "info")
            elif fork.kind == "doubt":
                what = (
                    f"`{fork.function}` makes its logits in two ways, and the audit cannot tell that they are the same."
                )
                remedy = "Compute them in one place, on both paths."
                if changed := _changed(script, fork):
                    what = f"The training alone changes `{changed}`, so `{fork.function}` is scored by another way."
                    remedy = f"Set `{changed}` once, at the top of the file."
                yield Found(fork.where, what, remedy, "review")
            elif fork.kind == "effect":
                what = (
                    f"On one path only, `{fork.function}` changes something that the audit cannot follow to the logits."
                )
                yield Found(fork.where, what, "Change it on both paths, or on none.", "review")
            elif fork.kind == "restored":
                what = f"Logits of `{fork.function}` depend on what `load_for_eval` sets; the training sets it as well."
                yield Found(fork.where, what, "Nothing to do, if the training ends in that state.", "warn")
            elif fork.kind == "opaque":
                what = f"`{fork.function}` trains through a fused loss or another kernel, which cannot be compared."
                yield Found(fork.where, what, "Nothing to do, if both are the same arithmetic.", "info")
            elif fork.kind == "harmless":
                what = f"What `{fork.function}` asks here changes no logits, but for the noise that training may add."
                if name := _asked_of_training(fork):
                    what = (
                        f"The training alone changes `{name}`, which gives `{fork.function}` noise or rounding at most."
                    )
                yield Found(fork.where, what, "Nothing to do.", "info")
        for node, name, owner in lent_forwards(script):
            what = f"`{name}` of `{owner}` is given by an assignment, so its two paths are not compared."
            yield Found(node, what, f"Write it as a method: `def {name}(self, …)`.", "review")


def _parted(script: Script, fork: Fork) -> tuple[str, str]:
    """Say where two paths part, by name where that is a name which the training alone changes."""
    if changed := _changed(script, fork):
        what = f"The training alone changes `{changed}`, so `{fork.function}` gives other logits when it is scored."
        return what, f"Set `{changed}` once, at the top of the file."
    what = f"`{fork.function}` gives other logits in evaluation than in training; this is where they part."
    return what, "Compute the logits the same way on both paths."


def _asked_of_training(fork: Fork) -> str:
    """Return the name that a harmless place asks and that the training alone changes."""
    seen = fork.seen
    asked = (dotted(node) for node in seen.questions.values() if seen.place(node) is fork.where)
    return next((name for name in asked if name in seen.marks.names), "")


def _changed(script: Script, fork: Fork) -> str:
    marked = _MARKED.setdefault(script, {})
    if id(fork.seen) not in marked:
        names = fork.seen.marks.names
        marked[id(fork.seen)] = [(node, name) for node in fork.seen.guilty if (name := dotted(node)) in names]
    return next((name for node, name in marked[id(fork.seen)] if _is_in(script, node, fork.where)), "")


def _is_in(script: Script, node: cst.CSTNode, place: cst.CSTNode) -> bool:
    script.budget.spend(_STEPS_OF_A_PLACE)
    return node is place or any(above is place for above in script.tree.ancestors(node))
