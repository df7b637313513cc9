"""E210 loss-selected-by-truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.examples.selected import HONEST, LOOKS_LIKE, SELECTED
from reviewer.found import Found
from reviewer.matchers.named_calls import named_calls
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.training.alternatives import are_alternatives
from reviewer.training.loss_sources import Source, Sources

_LEAST = frozenset(["min", "minimum", "fmin", "amin", "nanmin", "argmin", "softmin", "clamp_max", "nanargmin"])
_MOST = frozenset(["max", "maximum", "fmax", "amax", "argmax", "softmax", "nanargmax"])
_ORDER = frozenset(["sort", "argsort", "sorted", "topk", "kthvalue", "msort", "aminmax", "nsmallest", "argpartition"])
_CLAMPS = frozenset({"clamp", "clip"})
_ONE_SIDED = frozenset(["relu", "clamp", "clamp_min", "sign", "heaviside", "sigmoid", "softplus"])
_OVER = frozenset({"min", "amin", "argmin", "max", "amax", "argmax", "sort", "argsort", "topk", "softmax", "softmin"})
_ONCE_MORE = frozenset(["stack", "cat", "expand", "repeat", "repeat_interleave", "unsqueeze", "expand_as", "tile"])

_WHAT = "This picks among predictions by their loss on the true tokens, so the score is that of knowing the answer."
_REMEDY = (
    "Mix the predictions by weights that do not depend on the truth: `logsumexp` of log-probabilities and log-weights."
)


class LossSelectedByTruth(Rule):
    """Refuses to choose among experts, heads, temperatures or passes by how well each predicts the truth.

    What it looks for
        `min`, `minimum`, `amin`, `argmin`, `sort`, `topk`, `softmin`, a comparison, and `max` and its like of
        likelihoods, over losses of different predictions of the same targets: two losses with one truth, losses of a
        loop that changes the model and not the text, or one loss of stacked predictions, reduced over their
        dimension; and what keeps one side of the difference of two such losses, by `relu`, `sign` or `sigmoid`. Losses
        are followed through names, lists, dicts and helpers.

    Why it is refused
        Whoever may look at the answer before choosing who speaks is right more often than any of the speakers. Such a
        number is no likelihood: over all tokens, its probabilities sum to more than one.

    Do instead
        Choose before the truth is known, from the context. A mixture is fair: `torch.logsumexp(log_probs + log_weights,
        dim=0)`. Comparing losses over time, for a log or a learning rate, is not meant.
    """

    code = "E210"

    VALID: ClassVar = HONEST + LOOKS_LIKE
    INVALID: ClassVar = SELECTED

    def check(self, script: Script) -> Iterator[Found]:
        sources = Sources(script)
        if not sources:
            return
        for call, word in _selections(script):
            found = _chosen_among(script, sources, call, word)
            if are_alternatives(script, call, [s.loss for s in found]) or _is_over_stack(script, call, word, found):
                yield Found(call, _WHAT, _REMEDY)
        for comparison in script.tree.of(cst.Comparison):
            if len(comparison.comparisons) == 1 and isinstance(
                comparison.comparisons[0].operator,
                cst.LessThan | cst.GreaterThan | cst.LessThanEqual | cst.GreaterThanEqual,
            ):
                left, right = sources.of(comparison.left), sources.of(comparison.comparisons[0].comparator)
                both = [s.loss for s in left | right] if left and right else []
                if both and are_alternatives(script, comparison, both):
                    yield Found(comparison, _WHAT, _REMEDY)
        for call, difference in _of_differences(script):
            left, right = sources.of(difference.left), sources.of(difference.right)
            both = [s.loss for s in left | right] if left and right else []
            if both and are_alternatives(script, call, both):
                yield Found(call, _WHAT, _REMEDY)


def _of_differences(script: Script) -> Iterator[tuple[cst.Call, cst.BinaryOperation]]:
    """Yield what keeps one side of a difference: `a - relu(a - b)` is the lower of the two."""
    for call, _ in named_calls(script, _ONE_SIDED & script.mentions.keys()):
        given: list[cst.CSTNode] = []
        given += [a.value for a in call.args if a.keyword is None][:1]
        given += [call.func.value] if isinstance(call.func, cst.Attribute) else []
        for part in given:
            while isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Multiply | cst.Divide):
                part = part.left  # `sigmoid((a - b) * 50)`
            name = part
            if isinstance(name, cst.Name):
                bindings = script.scopes.of(name).find(name.value)
                part = bindings[0].node if len(bindings) == 1 and bindings[0].node is not None else part
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Subtract):
                yield call, part


def _selections(script: Script) -> Iterator[tuple[cst.Call, str]]:
    """Yield every call of a function or method that picks from what it is given, with its name."""
    seen = set()
    for call, word in named_calls(script, _LEAST | _MOST | _ORDER | _CLAMPS):
        seen.add(id(call))
        yield call, word
    for path, calls in script.called.items():
        word = path.rpartition(".")[2]
        if word in _LEAST | _MOST | _ORDER and path.startswith(("torch.", "numpy.", "builtins.", "heapq.")):
            yield from ((call, word) for call in calls if id(call) not in seen)


def _chosen_among(script: Script, sources: Sources, call: cst.Call, word: str) -> list[Source]:
    """Return the losses among which a call picks the lowest, or the likelihoods among which it picks the highest."""
    if word == "sorted" and not isinstance(script.tree.parent(call), cst.Subscript):
        return []
    given: list[cst.CSTNode] = []
    if isinstance(call.func, cst.Attribute):
        given.append(call.func.value)
    for arg in call.args:
        if word in _CLAMPS and arg is not call.args[0] and (arg.keyword is None or arg.keyword.value != "max"):
            continue
        if arg.keyword is None or arg.keyword.value in ("key", "other", "input", "max"):
            given.append(arg.value.body if isinstance(arg.value, cst.Lambda) else arg.value)
            if arg.keyword is not None and arg.keyword.value == "key" and isinstance(arg.value, cst.Attribute):
                given.append(arg.value.value)  # `key=losses.get`
    found = [s for node in given for s in sources.of(node)]
    if word in _CLAMPS and len(given) < 2:
        return []
    wanted = {False} if word in _LEAST or word in _CLAMPS else {True} if word in _MOST else {True, False}
    return [s for s in found if s.negative in wanted]


def _is_over_stack(script: Script, call: cst.Call, word: str, found: list[Source]) -> bool:
    """Tell whether this reduces, over a given dimension, one loss of predictions that were put side by side."""
    if word not in _OVER or len(found) != 1:
        return False
    plain = [a for a in call.args if a.keyword is None]
    dims = plain if isinstance(call.func, cst.Attribute) and not script.values.paths(call.func) else plain[1:]
    named = any(a.keyword is not None and a.keyword.value in ("dim", "axis") for a in call.args)
    if not dims and not named:
        return False
    loss = found[0].loss
    return any(_is_repeated(script, part) for part in (loss.truth, loss.judged))


def _is_repeated(script: Script, node: cst.BaseExpression, hops: int = 0) -> bool:
    """Tell whether a truth is repeated, once for each of several predictions, or predictions are stacked."""
    match node:
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))):
            if name in _ONCE_MORE and name != "unsqueeze":
                return True
            return _is_repeated(script, base, hops)
        case cst.Call(func=cst.Name(value="stack")):
            return True
        case cst.Name() if hops < 3:
            bindings = script.scopes.of(node).find(node.value)
            nodes = [b.node for b in bindings if b.kind == "expr" and isinstance(b.node, cst.BaseExpression)]
            return any(_is_repeated(script, n, hops + 1) for n in nodes[:4])
    return False
