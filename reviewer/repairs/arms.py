"""Makes the two paths of a model one: what training does stays, and what only evaluation does goes.

Every candidate leaves the training path as it is, because it changes nothing but the answer to a question that is
always the same in training, or statements that the training run never comes to. The first candidate after which the
audit sees the same logits on both paths is the repair; if there is none, a person has to write it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import libcst as cst

from reviewer.budget import TooMuch
from reviewer.evaluation.forks import Comparison, Fork, find_forks
from reviewer.evaluation.oracles import FLAGS
from reviewer.evaluation.targets import TARGET
from reviewer.fold import names_in
from reviewer.found import Edit
from reviewer.layout import Unplaced
from reviewer.nodes import below
from reviewer.repairs.bracketing import bracketed
from reviewer.repairs.closing import closed, closed_arm
from reviewer.repairs.edits import Overlap, apply, changes
from reviewer.scope import Function, parameters
from reviewer.script import Script
from reviewer.training.teaching import teaches

_BAD = ("fork", "transform", "doubt", "effect")
_MOST_TRIALS = 8
# What training does to itself and a score must not have: an arm with one of these is no model to score.
_NOISE = re.compile(r"rand|nois|drop|bernoulli|quant|stochastic|checkpoint|perturb|mask_prob|aux")
_WHY = "Evaluation now computes what training does."

Candidate = Sequence[Edit]


def unified(script: Script, fork: Fork) -> Callable[[], Candidate] | None:
    """Return what works out the repair of a fork; None where there is certainly none."""
    try:
        first = next(_candidates(script, fork), None)
    except Unplaced:
        return None
    if first is None or teaches(script, list(fork.seen.guilty)):
        return None
    return lambda: _first_that_helps(script, fork)


def _first_that_helps(script: Script, fork: Fork) -> Candidate:
    before = _differing(script)
    trials = 0
    for candidate in _candidates(script, fork):
        trials += 1
        if trials > _MOST_TRIALS:
            break
        try:
            text = apply(script.text, changes(script.tree, script.layout, candidate))
            after = _differing(Script(text, script.policy, script.launch))
        except (Overlap, TooMuch, cst.ParserSyntaxError):
            continue
        mine = after.count(fork.function) < before.count(fork.function)
        if mine and len(after) < len(before):
            return [replace(edit, why=_WHY) for edit in candidate]
    return ()


def _differing(script: Script) -> list[str]:
    return [fork.function for fork in find_forks(script) if fork.kind in _BAD]


def _candidates(script: Script, fork: Fork) -> Iterator[Candidate]:
    seen = fork.seen
    if seen.guilty and (answered := _answered(script, seen)):
        yield answered
    line = _statement(script, fork.where)
    if line is None:
        return
    if id(line) not in seen.train.ran:
        if isinstance(line, cst.Assign | cst.AugAssign | cst.Expr):
            yield (Edit(_alone(script, line), ""),)
        elif isinstance(fork.where, cst.BaseExpression):
            yield from ((Edit(fork.where, bracketed(script, fork.where, part)),) for part in _parts(fork.where))
    elif fork.kind == "transform" and isinstance(fork.where, cst.BaseExpression):
        yield from _given_to_evaluation(script, fork, fork.where)


def _answered(script: Script, seen: Comparison) -> Candidate:
    """Answer each question that makes a difference as training does; empty where one cannot be answered so."""
    edits: list[Edit] = []
    targets = {p.name.value for p in parameters(seen.node) if TARGET.match(p.name.value)}
    for question in seen.guilty:
        answer = _answer(script, question)
        if answer is None or not (_is_inside(script, question, seen.node) or _is_name_question(question)):
            return ()
        place = seen.place(question)
        above = script.tree.parent(place)
        known = _truth(place, question, answer) if isinstance(above, cst.If | cst.IfExp) else None
        if isinstance(above, cst.If) and above.test is place and known is not None:
            kept, lost = (above.body, above.orelse) if known else (above.orelse, above.body)
            ends = targets and lost is not None and any(isinstance(n, cst.Return) for n in below(lost))
            if ends or not _can_be_scored(kept, targets):
                return ()
            edits += closed(script, above, known)
        elif isinstance(above, cst.IfExp) and above.test is place and known is not None:
            if not _can_be_scored(above.body if known else above.orelse, targets):
                return ()
            edits += closed_arm(script, above, known)
        elif isinstance(question, cst.BaseExpression):
            edits.append(Edit(question, str(answer)))
    return edits


def _answer(script: Script, question: cst.CSTNode) -> bool | None:
    """Return what a question always is in training; None where that depends on more than the text."""
    match question:
        case cst.Attribute(attr=cst.Name(value="training")):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name)) if name in FLAGS:
            return "grad" in name
        case cst.Comparison(comparisons=[target]) if _is_name_question(question):
            return {cst.Equal: True, cst.NotEqual: False}.get(type(target.operator))
        case cst.Comparison(comparisons=[target]) if "None" in names_in(question):
            return isinstance(target.operator, cst.IsNot | cst.NotEqual)
    return None


def _is_name_question(question: cst.CSTNode) -> bool:
    """Tell whether this is `__name__ == "__main__"`, or its opposite."""
    match question:
        case cst.Comparison(left=left, comparisons=[target]):
            texts = [n.value[1:-1] for n in (left, target.comparator) if isinstance(n, cst.SimpleString)]
            return texts == ["__main__"] and "__name__" in names_in(question)
    return False


def _truth(test: cst.CSTNode, question: cst.CSTNode, answer: bool) -> bool | None:
    """Return what a test is, once one question in it is answered."""
    if test is question:
        return answer
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            known = _truth(inner, question, answer)
            return None if known is None else not known
        case cst.BooleanOperation(left=left, right=right):
            decides = isinstance(test.operator, cst.Or)
            return decides if decides in (_truth(left, question, answer), _truth(right, question, answer)) else None
    return None


def _can_be_scored(kept: cst.CSTNode | None, targets: set[str]) -> bool:
    """Tell whether an arm of training has nothing in it that only training has: targets, noise."""
    if kept is None:
        return True
    names = names_in(kept)
    return not names & targets and not any(_NOISE.search(name) for name in names)


def _is_inside(script: Script, node: cst.CSTNode, function: Function) -> bool:
    return any(above is function for above in script.tree.ancestors(node))


def _statement(script: Script, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    if isinstance(node, cst.BaseSmallStatement):
        return node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.BaseSmallStatement):
            return above
        if isinstance(above, cst.BaseCompoundStatement):
            return None
    return None


def _alone(script: Script, line: cst.BaseSmallStatement) -> cst.CSTNode:
    """Return a statement, or the `if` that asks nothing but whether to run it."""
    block = script.tree.parent(script.tree.parent(line) or line)
    test = script.tree.parent(block) if isinstance(block, cst.IndentedBlock) and len(block.body) == 1 else None
    if isinstance(test, cst.If) and test.orelse is None and not any(isinstance(n, cst.Call) for n in below(test.test)):
        return test
    return line


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what an operation is made of, the larger parts first."""
    todo: list[cst.BaseExpression] = [node]
    while todo:
        one = todo.pop(0)
        match one:
            case cst.BinaryOperation(left=left, right=right):
                inner = [left, right]
            case cst.Call(func=func, args=args):
                inner = [a.value for a in args if not a.star]
                inner += [func.value] if isinstance(func, cst.Attribute) else []
            case cst.UnaryOperation(expression=expression):
                inner = [expression]
            case _:
                inner = []
        inner = [part for part in inner if not isinstance(part, cst.Integer | cst.Float | cst.SimpleString)]
        yield from inner
        todo += inner


def _given_to_evaluation(script: Script, fork: Fork, where: cst.BaseExpression) -> Iterator[Candidate]:
    """Return, where only evaluation comes to, what the loss of training is computed of."""
    for ended in script.tree.of(cst.Return):
        if script.scopes.function_of(ended) is not fork.seen.node or ended.value is None:
            continue
        if id(ended) in fork.seen.train.ran or id(ended) not in fork.seen.eval.ran:
            continue
        if isinstance(ended.value, cst.Name) and ended.value.value in names_in(where):
            yield (Edit(ended.value, bracketed(script, ended.value, where)),)
