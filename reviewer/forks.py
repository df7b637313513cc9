"""Compares training and evaluation of every function that the scored model can run, and says what differs.

For each such function that asks a question (`flow.py`), the logits of both runs are compared: what a loss is computed
of, and what is returned. Logits that are the same make the question harmless. Logits of one path that are the other's
with something put on top are a transform on one path only. Anything else is a fork. Which questions matter is found
by answering them one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import libcst as cst

from reviewer.flow import EVAL_FLAG, TARGET, TRAIN_FLAG, Run
from reviewer.fold import names_in
from reviewer.oracles import WORDS, Watched, switches, watched
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.terms import Terms

_MOST_QUESTIONS = 24
_MOST_DEEP = 200
# What trains faster than it scores is named so: the same product, by another kernel or in fewer bits.
_KERNEL = re.compile(r"fp8|float8|_f8|fused|kernel|triton|flash|scaled_mm")
_PRODUCT = re.compile(r"(^|\.)(linear|matmul|mm|bmm|addmm|einsum)$|^op MatrixMultiply$")


Kind = Literal["fork", "transform", "doubt", "restored", "opaque", "harmless"]


@dataclass(frozen=True)
class Fork:
    """A place where training and evaluation part. `where` is the question, or the operation of one path only.

    `doubt` is a fork that may be none: logits spelled in two ways over one trunk, or a cache that is made anew.
    `restored` is one that the training comes to as well. `seen` are the two runs, for a repair.
    """

    kind: Kind
    where: cst.CSTNode
    function: str
    seen: Comparison = field(compare=False)


def find_forks(script: Script) -> list[Fork]:
    """Return what parts training from evaluation, in every function reachable from the scored model."""
    marks = watched(script)
    within, found = _run_by_models(script), list[Fork]()
    for function in _asking_functions(
        script, {*WORDS, *marks.attributes, *_last_parts(marks.names), *switches(script)}
    ):
        sees = marks if id(function) in within else replace(marks, oracles=False)
        found.extend(Comparison(script, function, sees).forks())
    return found


def _last_parts(names: Iterable[str]) -> Iterator[str]:
    return (n.rsplit(".", 1)[-1] for n in names)


def _run_by_models(script: Script) -> set[int]:
    """Return the ids of the functions that a model's `forward` can run, not counting methods of other things.

    The call graph knows methods by their names alone, so a loader's `take` looks like a tensor's.
    """
    models = {id(c) for c in script.tree.of(cst.ClassDef) if _is_model(script, c)}

    def belongs(function: cst.CSTNode) -> bool:
        home = script.scopes.of(function).node
        return not isinstance(home, cst.ClassDef) or id(home) in models

    starts = [f for f in script.forwards if f.name.value != "load_for_eval" and belongs(f)]
    others = {key for key, function in script.calls.functions.items() if not belongs(function)}
    return script.calls.reachable(starts, but=others)


def _is_model(script: Script, node: cst.ClassDef) -> bool:
    """Tell whether a class is a layer: it has a `forward`, or what it inherits from may have one."""
    return "forward" in script.scopes.scope(node).names or bool(node.bases)


def _asking_functions(script: Script, asking: set[str]) -> Iterator[cst.FunctionDef]:
    """Yield the functions that the scored model can run and that can ask a question at all."""
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


class Comparison:
    """Both runs of one function, and which of its questions make them differ."""

    def __init__(self, script: Script, function: cst.FunctionDef, marks: Watched) -> None:
        self.script, self.node, self.marks = script, function, marks
        self.terms = Terms(script.budget)
        self.train = self._run(lambda question: False)
        self.eval = self._run(lambda question: True)
        for said in (*self.train.judged, *self.train.returned):
            self.terms.trained |= self.terms.below(said)
        self.questions = {**self.train.questions, **self.eval.questions}
        self.guilty: list[cst.CSTNode] = []

    def _run(self, evaluating: Callable[[int], bool]) -> Run:
        run = Run(self.script, self.terms, self.marks, evaluating)
        run.function(self.node)
        return run

    def forks(self) -> Iterator[Fork]:
        if not self.questions:
            return
        name = self.node.name.value
        train, scored = self._logits(self.train, True), self._logits(self.eval, False)
        kinds = [self._kind(e, train) for e in scored if e not in train]
        if not kinds and scored:
            kinds += [self._kind(scored[0], [t]) for t in self._unscored(scored)]
        guilty = set(self._guilty()) if kinds else set()
        self.guilty = [node for question, node in self.questions.items() if question in guilty]
        places = {id(self.place(n)): self.place(n) for q, n in self.questions.items() if q in guilty}
        if kinds and not places:
            places = {id(self.place(n)): self.place(n) for n in self.questions.values()}
        in_doubt = bool(guilty) and all(_asks_for_staleness(self.questions[q]) for q in guilty)
        restored = bool(guilty) and all(self._is_restored(self.questions[q]) for q in guilty)
        for kind, where in kinds:
            kind = "restored" if restored else "doubt" if in_doubt else kind
            if kind == "transform" and where is not None:
                yield Fork(kind, where, name, self)
            else:
                yield from (Fork(kind, place, name, self) for place in places.values())
        asked = {id(p): p for p in map(self.place, self.questions.values())}
        for node in self.questions.values():
            place = self.place(node)
            if id(place) not in places and not isinstance(node, cst.Param) and not self._is_within(place, asked):
                yield Fork("harmless", place, name, self)

    def _is_restored(self, question: cst.CSTNode) -> bool:
        """Tell whether a question is an attribute that the training sets as `load_for_eval` does."""
        return isinstance(question, cst.Attribute) and question.attr.value in self.marks.restored

    def _is_within(self, place: cst.CSTNode, asked: Mapping[int, cst.CSTNode]) -> bool:
        """Tell whether a place is only come to where another question has been answered."""
        below = place
        for above in self.script.tree.ancestors(place):
            if above is self.node:
                return False
            if isinstance(above, cst.If | cst.IfExp) and below is not above.test and id(above.test) in asked:
                return True
            below = above
        return False

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

    def _unscored(self, scored: list[int]) -> Iterator[int]:
        """Yield what training returns, or computes a returned loss of, where evaluation never says anything like it.

        Under `if self.flag and self.training: return …` training may come to what follows as well, so what evaluation
        says is always among what training does.
        """
        heard = {*scored, *self._logits(self.eval, True)}
        run = self.train
        for returned in run.returned:
            inside = self.terms.below(returned)
            if inside & (run.losses | run.targets):
                said = [j for j in run.judged if j in inside]
            else:
                said = [returned] if returned != self.terms.none else []
            plain = [self.terms.plain(s, True) for s in said]
            if plain and not heard & {*plain, *(p for one in plain for p in self._parted(one))}:
                yield plain[0]

    def _parted(self, number: int) -> tuple[int, ...]:
        return self.terms.parts(number) if self.terms.get(number)[0] == "tuple" else ()

    def _kind(self, scored: int, train: list[int]) -> tuple[Kind, cst.CSTNode | None]:
        terms = self.terms
        inside = terms.below(scored)
        faster = any(self._is_faster(t, inside) for t in (*train, *self.train.returned))
        if faster and any(self._is_same_product(scored, t) for t in train):
            return "opaque", None
        for t in train:
            if terms.parts(t) and t in inside:
                return "transform", terms.place(scored)
            if terms.parts(scored) and scored in terms.below(t):
                return "transform", terms.place(t)
        core = terms.core(scored)
        is_core = terms.parts(core) or "logit" in str(terms.get(core)[0])
        if is_core and any(terms.core(t) == core for t in train):
            return "transform", terms.place(scored)
        unseen = [self.terms.plain(r, True) for r in self.train.returned if terms.below(r) & self.train.targets]
        trunk = [p for p in terms.parts(core) if terms.parts(p)]
        if any(set(trunk) & terms.below(t) for t in unseen):
            if not self.train.judged:
                return "opaque", None  # a fused loss: the training path never shows its logits
            if terms.get(core)[0] not in {terms.get(terms.core(t))[0] for t in train}:
                return "doubt", None
        if any(self._is_given_all(scored, t) for t in train):
            return "opaque", None
        return "doubt" if faster else "fork", None

    def _is_given_all(self, scored: int, train: int) -> bool:
        """Tell whether training gives a kernel by name all that evaluation makes the same thing of."""
        terms, me = self.terms, self.terms.make(("#self",))
        given, made = terms.below(train), terms.below(scored)
        kernels = [str(terms.get(n)[0]).lower() for n in given - made if terms.parts(n)]
        if not any(map(_KERNEL.search, kernels)):
            return False
        needed = {n for n in made if terms.get(n)[0] == "attr" or (terms.is_data(n) and not terms.parts(n))}
        needed -= {terms.get(n)[1] for n in needed if terms.get(n)[0] == "attr"}  # `self.mix` of `self.mix.weight`
        layers = {n for n in made if terms.parts(n)[:1] == (me,) and terms.get(n)[0] != "attr"}
        return needed | layers <= given

    def _is_faster(self, train: int, scored: set[int]) -> bool:
        """Tell whether training alone names a faster kernel, in what it computes or where it asks."""
        alone = {str(word) for n in self.terms.below(train) - scored for word in self.terms.get(n)}
        alone -= {str(word) for n in scored for word in self.terms.get(n)}
        asked = [self.script.tree.code(self.place(q)) for q in self.questions.values()]
        return any(map(_KERNEL.search, [*alone, *asked]))

    def _is_same_product(self, scored: int, train: int) -> bool:
        """Tell whether evaluation multiplies, and nothing else, what training gives to another kernel."""
        terms = self.terms
        for _ in range(_MOST_DEEP):
            one, two = terms.get(scored), terms.get(train)
            pairs = [(a, b) for a, b in zip(one[1:], two[1:], strict=False) if a != b]
            if one[0] != two[0] or len(one) != len(two) or len(pairs) != 1 or not isinstance(pairs[0][0], int):
                break
            scored, train = pairs[0]
        name, given = str(terms.get(scored)[0]), terms.below(train)
        parts = [p for p in terms.parts(scored) if terms.parts(p) or terms.is_data(p)]
        own = terms.make(("attr", terms.make(("#self",)), name[1:]))
        if not (_PRODUCT.search(name) or own in given) or not parts:
            return False
        return all(p in given or self._is_module(p) for p in parts)

    def _is_module(self, number: int) -> bool:
        name = str(self.terms.get(number)[0])
        return name[0] == "#" and any(b.kind == "ref" for b in self.script.scopes.module.names.get(name[1:], ()))

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

    def place(self, question: cst.CSTNode) -> cst.CSTNode:
        """Return what to show of a question: the whole test that it is part of."""
        below = question
        for above in self.script.tree.ancestors(question):
            if isinstance(above, cst.If | cst.IfExp | cst.While) and above.test is below:
                return above.test
            if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                break
            below = above
        return question


def _asks_for_staleness(question: cst.CSTNode) -> bool:
    """Tell whether a question is `cache.is_inference()`: what inference mode has made cannot be trained with."""
    return isinstance(question, cst.Call) and "is_inference" in names_in(question.func)
