"""Compares training and evaluation of every function that the scored model can run, and says what differs.

For each such function that asks a question (`flow.py`), the logits of both runs are compared: what a loss is computed
of, and what is returned. Logits that are the same make the question harmless. Logits of one path that are the other's
with something put on top are a transform on one path only. Anything else is a fork. Which questions matter is found
by answering them one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from reviewer.flow import EVAL_FLAG, TARGET, TRAIN_FLAG, Run
from reviewer.fold import UNKNOWN, names_in
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.terms import Terms

_ASKING = frozenset(
    [
        "training",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "__name__",
        "argv",
        "exists",
        "isfile",
        "isdir",
        "is_file",
        "is_dir",
        "lexists",
    ]
)
_MOST_QUESTIONS = 24


@dataclass(frozen=True)
class Fork:
    """A place where training and evaluation part. `where` is the question, or the operation of one path only."""

    kind: Literal["fork", "transform", "opaque", "harmless"]
    where: cst.CSTNode
    function: str


def find_forks(script: Script) -> list[Fork]:
    """Return what parts training from evaluation, in every function reachable from the scored model."""
    attributes = _set_for_evaluation(script)
    found: list[Fork] = []
    for function in _asking_functions(script, set(attributes)):
        found.extend(_Comparison(script, function, attributes).forks())
    return found


def _set_for_evaluation(script: Script) -> dict[str, object]:
    """Return the attributes that `load_for_eval` assigns, with their constant values."""
    found: dict[str, object] = {}
    for assign in script.tree.of(cst.Assign):
        function = script.scopes.function_of(assign)
        if isinstance(function, cst.FunctionDef) and function.name.value == "load_for_eval":
            for target in assign.targets:
                if isinstance(target.target, cst.Attribute) and target.target.attr.value != "training":
                    value = script.values.constant(assign.value)
                    found[target.target.attr.value] = None if value is UNKNOWN else value
    return found


def _asking_functions(script: Script, attributes: set[str]) -> Iterator[cst.FunctionDef]:
    """Yield the functions that the scored model can run and that can ask a question at all."""
    asking = {*_ASKING, *attributes}
    for _ in range(3):  # a constant made of a constant made of a flag is followed that far
        for assign in script.tree.of(cst.Assign):
            at_module = script.tree.parent(script.tree.parent(assign) or assign) is script.tree.module
            if at_module and names_in(assign.value) & asking:
                for target in assign.targets:
                    asking |= names_in(target.target)
        for function in script.tree.of(cst.FunctionDef):
            returns = script.scopes.returns.get(id(function), [])
            if len(returns) == 1 and len(function.body.body) <= 3 and names_in(returns[0]) & asking:
                asking.add(function.name.value)
    wanted = {id(script.scopes.function_of(n)) for n in script.tree.of(cst.Name) if n.value in asking}
    reachable = script.calls.reachable(script.forwards)
    for function in script.tree.of(cst.FunctionDef):
        if id(function) not in reachable or function.name.value == "load_for_eval":
            continue
        named = any(_is_flag(p.name.value) for p in parameters(function))
        if id(function) in wanted or named:
            yield function


def _is_flag(name: str) -> bool:
    return bool(EVAL_FLAG.match(name) or TRAIN_FLAG.match(name) or TARGET.match(name))


class _Comparison:
    def __init__(self, script: Script, function: cst.FunctionDef, attributes: dict[str, object]) -> None:
        self.script, self.node, self.attributes = script, function, attributes
        self.terms = Terms(script.budget)
        self.train = self._run(lambda question: False)
        self.eval = self._run(lambda question: True)
        for said in (*self.train.judged, *self.train.returned):
            self.terms.trained |= self.terms.below(said)
        self.questions = {**self.train.questions, **self.eval.questions}

    def _run(self, evaluating: Callable[[int], bool]) -> Run:
        run = Run(self.script, self.terms, self.attributes, evaluating)
        run.function(self.node)
        return run

    def forks(self) -> Iterator[Fork]:
        if not self.questions:
            return
        name = self.node.name.value
        train, scored = self._logits(self.train, True), self._logits(self.eval, False)
        kinds = [self._kind(e, train) for e in scored if e not in train]
        guilty = set(self._guilty()) if kinds else set()
        places = {id(self._place(n)): self._place(n) for q, n in self.questions.items() if q in guilty}
        if kinds and not places:
            places = {id(self._place(n)): self._place(n) for n in self.questions.values()}
        for kind, where in kinds:
            if kind == "transform" and where is not None:
                yield Fork(kind, where, name)
            else:
                yield from (Fork(kind, place, name) for place in places.values())
        for node in self.questions.values():
            if id(self._place(node)) not in places and not isinstance(node, cst.Param):
                yield Fork("harmless", self._place(node), name)

    def _logits(self, run: Run, training: bool) -> list[int]:
        """Return what a run says about the next token: what its losses judge, and what it returns beside losses."""
        found = list(run.judged)
        for returned in run.returned:
            term = self.terms.get(returned)
            for part in self.terms.parts(returned) if term[0] == "tuple" else (returned,):
                # What is made of a loss, or of the targets themselves, is a loss.
                if part != self.terms.none and not self.terms.below(part) & (run.losses | run.targets):
                    found.append(part)
        return list(dict.fromkeys(self.terms.plain(f, training) for f in found))

    def _kind(
        self, scored: int, train: list[int]
    ) -> tuple[Literal["fork", "transform", "opaque", "harmless"], cst.CSTNode | None]:
        terms = self.terms
        inside = terms.below(scored)
        for t in train:
            if terms.parts(t) and t in inside:
                return "transform", terms.origin[scored]
            if terms.parts(scored) and scored in terms.below(t):
                return "transform", terms.origin[t]
        core = terms.core(scored)
        is_core = terms.parts(core) or "logit" in str(terms.get(core)[0])
        if is_core and any(terms.core(t) == core for t in train):
            return "transform", terms.origin[scored]
        unseen = [self.terms.plain(r, True) for r in self.train.returned if terms.below(r) & self.train.targets]
        trunk = [p for p in terms.parts(core) if terms.parts(p)]
        if any(set(trunk) & terms.below(t) for t in unseen):
            return "opaque", None  # a fused loss: the training path never shows its logits
        return "fork", None

    def _guilty(self) -> Iterator[int]:
        """Yield the questions whose answer, changed alone, changes the logits of one of the two runs."""
        if len(self.questions) > _MOST_QUESTIONS:
            yield from self.questions
            return
        train, scored = set(self._logits(self.train, True)), set(self._logits(self.eval, True))
        for question in self.questions:
            one = self._run(lambda q, asked=question: q == asked)  # type: ignore[misc]
            two = self._run(lambda q, asked=question: q != asked)  # type: ignore[misc]
            new = set(self._logits(one, True)) - train if train else set()  # a fused loss shows nothing to compare
            if new or set(self._logits(two, True)) - scored:
                yield question

    def _place(self, question: cst.CSTNode) -> cst.CSTNode:
        """Return what to show of a question: the whole test that it is part of."""
        below = question
        for above in self.script.tree.ancestors(question):
            if isinstance(above, cst.If | cst.IfExp | cst.While) and above.test is below:
                return above.test
            if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                break
            below = above
        return question
