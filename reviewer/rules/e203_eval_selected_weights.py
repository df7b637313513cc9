"""E203 eval-selected-weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.dataflow.sources import sources
from reviewer.evaluation.at_evaluation import loaders
from reviewer.evaluation.loaded import LOADS
from reviewer.examples.selection import CHOSEN, LAST
from reviewer.fold import names_in
from reviewer.found import Found
from reviewer.nodes import children
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script

_CHOOSERS = frozenset(["builtins.min", "builtins.max", "builtins.sorted", "heapq.nsmallest", "heapq.nlargest"])
_INDEXING = frozenset({"argmin", "argmax", "topk", "argsort"})
_SAVES = frozenset(["torch.save", "safetensors.torch.save_file", "safetensors.torch.save_model", "torch.jit.save"])
_KEEPING = frozenset({"state_dict", "deepcopy"})
_SCORE = re.compile(r"(^|_)(loss|losses|val|bpb|ppl|perplexity|nll|score|metric|acc|accuracy)(_|\d|$)", re.IGNORECASE)
_BEST = re.compile(r"(^|_|\b)(best|lowest|smallest|min|highest)(_|\b)", re.IGNORECASE)
_BEST_FILE = re.compile(r"(^|[/_.\-])best([/_.\-]|$)", re.IGNORECASE)
_HELD_OUT = re.compile(
    r"(^|_)(val|valid|validation|dev|eval|heldout|held_out|holdout)_?(\w*_)?(loss|bpb|ppl|nll|score)"
)
_PATIENCE = re.compile(r"patience|early_?stop|no_improve|without_improve|bad_(epochs|points|evals)", re.IGNORECASE)
_TRAINS = frozenset({"backward", "train_step", "record_step_boundary", "zero_grad"})
_REMEDY = "Save the last weights, or an average that the training makes, and load those."


class EvalSelectedWeights(Rule):
    """Asks a person to look at weights that are chosen by how well they score.

    What it looks for
        In what `load_for_eval` runs: several files or parts of a checkpoint that are read in a loop, averaged, or
        chosen from by `min`, `max`, `sorted` or a comparison of losses, and names such as `best`. In training:
        weights that are saved or kept only where a loss is lower than the best so far, a loop that ends when a loss on
        held-out text is low enough or has not fallen for a while, and weights loaded or saved that `min` or `max` has
        chosen. Averages that the training keeps (EMA, SWA) are the weights like any other.

    Why it is refused
        What is chosen by its score is better on the text it was chosen on than anywhere else. On held-out text, that
        is fitting to it, one choice at a time.

    Do instead
        Save the last weights, or an average made in training.
    """

    code = "E203"

    VALID: ClassVar = LAST
    INVALID: ClassVar = CHOSEN

    def check(self, script: Script) -> Iterator[Found]:
        seen: set[int] = set()
        for found in (*_at_loading(script), *_in_training(script)):
            if id(found.node) not in seen:
                seen.add(id(found.node))
                yield found


def _at_loading(script: Script) -> Iterator[Found]:
    """Find choices among weights in what `load_for_eval` runs, beside the model itself."""
    starts = loaders(script)
    if not starts:
        return
    running = script.calls.reachable(starts, but=script.modelled.inside)

    def runs(node: cst.CSTNode) -> bool:
        return id(script.scopes.function_of(node)) in running

    loads = [call for _, call in script.calling(LOADS) if runs(call)]
    for call in loads:
        if _repeats(script, call):
            yield _found(call, "Several checkpoints are read for scoring")
        elif call.args and _has_best(script, call.args[0].value):
            yield _found(call, "The checkpoint that is scored is one called best")
    for _, node in script.handing_on(LOADS):
        if runs(node):
            yield _found(node, "Several checkpoints are read for scoring")
    for call in [*(c for _, c in script.calling(_CHOOSERS)), *_indexing(script)]:
        if runs(call) and _is_of_weights(script, call):
            yield _found(call, "Which weights are scored is chosen here")
    for branch in script.tree.both(cst.If, cst.IfExp):
        if runs(branch) and _compares_scores(branch.test):
            yield _found(branch.test, "A comparison of scores decides here which weights are scored")
    for part in script.tree.of(cst.Subscript):
        key = part.slice[0].slice if len(part.slice) == 1 else None
        name = script.values.constant(key.value) if isinstance(key, cst.Index) else None
        if isinstance(name, str) and _BEST.search(name) and runs(part) and _is_of_weights(script, part):
            yield _found(part, "The part of a checkpoint that is scored is one called best")


def _in_training(script: Script) -> Iterator[Found]:
    """Find weights that are kept because a loss is the best so far, or that `min` and its like have picked."""
    for branch in script.tree.of(cst.If):
        if _compares_best(branch.test) and _keeps_weights(script, branch.body):
            yield _found(branch.test, "Weights are kept only where a score is the best so far")
        elif _is_good_enough(branch.test) and _ends_training(script, branch):
            yield _found(
                branch.test, "The training ends by a score on held-out text, so the last weights are chosen by it"
            )
    calls = [call for _, call in script.calling(_SAVES)]
    for name in script.mentions.get("load_state_dict", ()):
        whole = script.tree.parent(name)
        call = script.tree.parent(whole) if isinstance(whole, cst.Attribute) else None
        if isinstance(call, cst.Call) and call.func is whole:
            calls.append(call)
    for call in calls:
        for chooser in _choosers(script, call):
            yield _found(chooser, "Which weights are kept is chosen here")


def _found(node: cst.CSTNode, what: str) -> Found:
    return Found(node, f"{what}.", _REMEDY, "review")


def _repeats(script: Script, call: cst.Call) -> bool:
    """Tell whether a load runs for several files: in a loop over them, or in a comprehension."""
    given = names_in(call)
    for above in script.tree.ancestors(call):
        if isinstance(above, cst.FunctionDef):
            return False
        if isinstance(above, cst.For) and given & names_in(above.target):
            return True
        if isinstance(above, cst.BaseComp) and given & names_in(above.for_in.target):
            return True
    return False


def _has_best(script: Script, node: cst.CSTNode) -> bool:
    texts = (script.values.constant(part) for part in sources(script, node) if isinstance(part, cst.SimpleString))
    return any(isinstance(text, str) and _BEST_FILE.search(text) for text in texts)


def _indexing(script: Script) -> Iterator[cst.Call]:
    for method in sorted(_INDEXING & script.mentions.keys()):
        for name in script.mentions[method]:
            whole = script.tree.parent(name)
            call = script.tree.parent(whole) if isinstance(whole, cst.Attribute) else whole
            if isinstance(call, cst.Call):
                yield call


def _is_of_weights(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether something is made of what a checkpoint holds, or of a list of checkpoints, and chosen by a score."""
    keyed = isinstance(node, cst.Call) and any(a.keyword is not None and a.keyword.value == "key" for a in node.args)
    for part in sources(script, node):
        if isinstance(part, cst.Call):
            paths = script.path_of(part)
            if any(path in LOADS for path in paths):
                return keyed or isinstance(node, cst.Subscript) or _speaks_of(node, _SCORE)
            if keyed and any(path.startswith("glob.") or path == "os.listdir" for path in paths):
                return True
    return False


def _compares_scores(test: cst.CSTNode) -> bool:
    """Tell whether two scores are compared: names or keys on either side speak of a loss."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    if not isinstance(
        test.comparisons[0].operator, cst.LessThan | cst.GreaterThan | cst.LessThanEqual | cst.GreaterThanEqual
    ):
        return False
    sides = (test.left, test.comparisons[0].comparator)
    return all(_speaks_of(side, _SCORE) for side in sides)


def _compares_best(test: cst.CSTNode) -> bool:
    """Tell whether a score is compared with the best one: `val_loss < best`."""
    if isinstance(test, cst.BooleanOperation):
        return _compares_best(test.left) or _compares_best(test.right)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    if not isinstance(
        test.comparisons[0].operator, cst.LessThan | cst.GreaterThan | cst.LessThanEqual | cst.GreaterThanEqual
    ):
        return False
    sides = (test.left, test.comparisons[0].comparator)
    best = [side for side in sides if _speaks_of(side, _BEST)]
    return len(best) == 1 and any(_speaks_of(side, _SCORE) for side in sides)


def _is_good_enough(test: cst.CSTNode) -> bool:
    """Tell whether a held-out score is asked to be low, or how long it has not fallen: `val_loss <= 3.28`."""
    if isinstance(test, cst.BooleanOperation):
        return _is_good_enough(test.left) or _is_good_enough(test.right)
    if isinstance(test, cst.Name):
        return _PATIENCE.search(test.value) is not None
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    left, operator, right = test.left, test.comparisons[0].operator, test.comparisons[0].comparator
    if isinstance(operator, cst.GreaterThan | cst.GreaterThanEqual):
        left, right = right, left
    elif not isinstance(operator, cst.LessThan | cst.LessThanEqual):
        return False
    return _speaks_of(left, _HELD_OUT) or any(_speaks_of(side, _PATIENCE) for side in (left, right))


def _ends_training(script: Script, branch: cst.If) -> bool:
    """Tell whether a branch leaves the loop that trains."""
    if not any(isinstance(s, cst.Break) for s in statements(branch.body)):
        return False
    loop = next((a for a in script.tree.ancestors(branch) if isinstance(a, cst.For | cst.While)), None)
    return loop is not None and bool(_TRAINS & names_in(loop.body))


def _speaks_of(node: cst.CSTNode, pattern: re.Pattern[str]) -> bool:
    todo = [node]
    while todo:
        part = todo.pop()
        text = part.value if isinstance(part, cst.Name | cst.SimpleString) else ""
        if text and pattern.search(text.strip("'\"")):
            return True
        todo += children(part)
    return False


def _keeps_weights(script: Script, body: cst.CSTNode) -> bool:
    """Tell whether a block saves weights, or puts a copy of them aside."""
    todo = [body]
    while todo:
        part = todo.pop()
        if isinstance(part, cst.Call):
            if any(path in _SAVES for path in script.path_of(part)):
                return True
            if dotted(part.func).rpartition(".")[2] in _KEEPING and _puts_aside(script, part):
                return True
            if _calls_a_saver(script, part):
                return True
        todo += children(part)
    return False


def _puts_aside(script: Script, call: cst.Call) -> bool:
    return any(isinstance(above, cst.Assign) for above in script.tree.ancestors(call))


def _calls_a_saver(script: Script, call: cst.Call) -> bool:
    """Tell whether a function of the script that is called here saves something itself."""
    functions = {id(value.node) for value in script.values.of(call.func) if hasattr(value, "node")}
    return any(id(script.scopes.function_of(save)) in functions for _, save in script.calling(_SAVES))


def _choosers(script: Script, call: cst.Call) -> Iterator[cst.Call]:
    """Yield the `min(..., key=...)` out of which the weights of a call come."""
    for arg in call.args[:1]:
        for part in sources(script, arg.value):
            if isinstance(part, cst.Call) and _chooses(script, part):
                yield part


def _chooses(script: Script, call: cst.Call) -> bool:
    """Tell whether a call takes one of several by a key; a list that is only sorted has all of them."""
    paths = [path for path in script.path_of(call) if path in _CHOOSERS]
    taken = isinstance(script.tree.parent(call), cst.Subscript) or paths != ["builtins.sorted"]
    return bool(paths) and taken and any(a.keyword is not None and a.keyword.value == "key" for a in call.args)
