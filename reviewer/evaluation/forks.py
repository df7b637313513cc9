"""Compares training and evaluation of every function that the scored model can run, and says what differs.

For each such function that asks a question (`flow.py`), the logits of both runs are compared: what a loss is computed
of, and what is returned. Logits that are the same make the question harmless. Logits of one path that are the other's
with something put on top are a transform on one path only. Anything else is a fork. Which questions matter is found
by answering them one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import libcst as cst

from reviewer.evaluation.effects import matters
from reviewer.evaluation.flow import EVAL_FLAG, TRAIN_FLAG, Run
from reviewer.evaluation.losses import is_loss
from reviewer.evaluation.named_alike import only_named_so
from reviewer.evaluation.oracles import WORDS, Watched, switches, watched
from reviewer.evaluation.outcomes import is_record
from reviewer.evaluation.products import (
    is_given_all,
    is_same_product,
    names_a_kernel,
    own_in_place_of_kernel,
    trains_faster,
)
from reviewer.evaluation.started_as import defaulted
from reviewer.evaluation.targets import TARGET, handed_targets
from reviewer.evaluation.terms import Terms
from reviewer.fold import names_in
from reviewer.scope import Function, parameters
from reviewer.script import Script

_MOST_QUESTIONS = 24
_MAKING = frozenset({"__init__", "__post_init__", "__new__", "__repr__", "__str__", "__del__"})


Kind = Literal["fork", "transform", "doubt", "effect", "restored", "opaque", "harmless"]


@dataclass(frozen=True)
class Fork:
    """A place where training and evaluation part. `where` is the question, or the operation of one path only.

    `doubt` is a fork that may be none: logits spelled in two ways over one trunk, or a cache that is made anew.
    `effect` is a change on one path only that is not followed to the logits. `restored` is a fork that the training
    comes to as well. `seen` are the two runs, for a repair.
    """

    kind: Kind
    where: cst.CSTNode
    function: str
    seen: Comparison = field(compare=False)


def find_forks(script: Script) -> list[Fork]:
    """Return what parts training from evaluation, in every function reachable from the scored model."""
    marks = watched(script)
    within, found = _run_by_models(script), list[Fork]()
    asking = {*WORDS, *marks.attributes, *_last_parts(marks.names), *switches(script)}
    wanted = _asking(script, asking)
    marks = replace(marks, raising=frozenset(_raising(script, wanted)))
    for function in _asking_functions(script, wanted):
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


def _asking(script: Script, asking: set[str]) -> set[int]:
    """Return the ids of the functions with one of these words in them, or a name of what is made of them."""
    made = list(_made_at_once(script))
    for _ in range(3):  # a constant made of a constant made of a flag is followed that far
        for names, parts in made:
            if not parts.isdisjoint(asking):
                asking |= names
    mentions = script.mentions
    around = (script.scopes.function_of(n) for word in asking & mentions.keys() for n in mentions[word])
    return {id(function) for function in around if function is not None}


def _made_at_once(script: Script) -> Iterator[tuple[set[str], set[str]]]:
    """Yield names that stand for an expression, constants of the module and short functions, with the names in it."""
    for line in script.tree.module.body:
        for one in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(one, cst.Assign):
                yield set().union(*(names_in(target.target) for target in one.targets)), names_in(one.value)
    for function in script.tree.of(cst.FunctionDef):
        returns = script.scopes.returns.get(id(function), [])
        if len(returns) == 1 and len(function.body.body) <= 3:
            yield {function.name.value}, names_in(returns[0])


def _raising(script: Script, wanted: set[int]) -> Iterator[str]:
    """Yield the names of asking functions that may end in an error."""
    for node in script.tree.both(cst.Raise, cst.Assert):
        function = script.scopes.function_of(node)
        if isinstance(function, cst.FunctionDef) and id(function) in wanted:
            yield function.name.value


def _asking_functions(script: Script, wanted: set[int]) -> Iterator[Function]:
    """Yield the functions that the scored model can run and that can ask a question at all."""
    reachable = script.calls.reachable(script.forwards)
    handed, defaults = handed_targets(script), defaulted(script)
    for function in script.tree.of(cst.FunctionDef):
        if function.name.value in _MAKING or function.name.value == "load_for_eval":
            continue
        if id(function) not in reachable and not (id(function) in wanted and _is_implied(script, function)):
            continue
        named = any(_is_flag(p.name.value) for p in parameters(function))
        if named or id(function) in wanted or id(function) in handed or id(function) in defaults:
            yield function
    for one in script.tree.of(cst.Lambda):
        if id(one) in wanted and id(one) in reachable and id(script.scopes.function_of(one)) not in wanted:
            yield one  # one inside of a function that asks is looked at there


def _is_implied(script: Script, function: cst.FunctionDef) -> bool:
    """Tell whether this is a method that runs without being named, of a layer or of what a layer makes: `__mul__`."""
    name, home = function.name.value, script.scopes.of(function).node
    if not (name.startswith("__") and name.endswith("__")) or not isinstance(home, cst.ClassDef):
        return False
    if script.modelled.is_layer(home):
        return True
    return any(
        script.modelled.runs(use) or script.modelled.is_layer(script.tree.enclosing(use, cst.ClassDef) or use)
        for use in script.mentions.get(home.name.value, ())
    )


def _is_flag(name: str) -> bool:
    return bool(EVAL_FLAG.match(name) or TRAIN_FLAG.match(name) or TARGET.match(name))


class Comparison:
    """Both runs of one function, and which of its questions make them differ."""

    def __init__(self, script: Script, function: Function, marks: Watched) -> None:
        self.script, self.node, self.marks = script, function, marks
        self.terms = Terms(script.budget, lambda name: only_named_so(script, name))
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
        name = self.node.name.value if isinstance(self.node, cst.FunctionDef) else "lambda"
        train, scored = self._logits(self.train, True), self._logits(self.eval, False)
        kinds = [self._kind(e, train) for e in scored if e not in train]
        if not kinds and scored:
            kinds += [self._kind(scored[0], [t]) for t in self._unscored(scored)]
        guilty = set(self._guilty()) if kinds else set()
        if not kinds and self.marks.oracles and self._touched(self.train, True) != self._touched(self.eval, True):
            kinds.append(("effect", None))
            guilty = set(self._touching())
        self.guilty = [node for question, node in self.questions.items() if question in guilty]
        places = {id(self.place(n)): self.place(n) for q, n in self.questions.items() if q in guilty}
        if kinds and not places:
            places = {id(self.place(n)): self.place(n) for n in self.questions.values()}
        unsure = self.train.unsure | self.eval.unsure
        in_doubt = bool(guilty) and all(q in unsure or _asks_for_staleness(self.questions[q]) for q in guilty)
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
            for part in self._parted(returned) or (returned,):
                # What is made of a loss, or of the targets themselves, is a loss.
                if part != self.terms.none and not is_loss(self.terms, part, run.losses, run.targets):
                    found.append(part)
        return list(dict.fromkeys(self.terms.told(f, training) for f in found))

    def _unscored(self, scored: list[int]) -> Iterator[int]:
        """Yield what training returns, or computes a returned loss of, where evaluation never says anything like it.

        Under `if self.flag and self.training: return …` training may come to what follows as well, so what evaluation
        says is always among what training does.
        """
        heard = {*scored, *self._logits(self.eval, True)}
        run = self.train
        for returned in run.returned:
            if is_loss(self.terms, returned, run.losses, run.targets):
                inside = self.terms.below(returned)
                said = [j for j in run.judged if j in inside]
            else:
                said = [returned] if returned != self.terms.none else []
            plain = [self.terms.told(s, True) for s in said]
            if plain and not heard & {*plain, *(p for one in plain for p in self._parted(one))}:
                yield plain[0]

    def _parted(self, number: int) -> tuple[int, ...]:
        """Return what is in a tuple or a dict; nothing for anything else."""
        name, parts = self.terms.get(number)[0], self.terms.parts(number)
        if is_record(self.script, str(name)):
            return parts
        if name == "store":
            return (*self._parted(parts[0]), parts[-1]) if self._parted(parts[0]) else ()
        if name == "node Dict":
            return tuple(self.terms.parts(part)[-1] for part in parts if self.terms.parts(part))
        return parts if name == "tuple" else ()

    def _kind(self, scored: int, train: list[int]) -> tuple[Kind, cst.CSTNode | None]:
        terms = self.terms
        inside = terms.below(scored)
        asked = [self.script.tree.code(self.place(q)) for q in self.questions.values()]
        faster = any(map(names_a_kernel, asked)) or any(
            trains_faster(terms, t, inside) for t in (*train, *self.train.returned)
        )
        plain = any(own_in_place_of_kernel(self.script, terms, t, inside) for t in train) if faster else False
        if faster and not plain and any(is_same_product(self.script, terms, scored, t) for t in train):
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
        if any(is_given_all(terms, scored, t) for t in train):
            return "opaque", None
        return "doubt" if faster else "fork", None

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

    def _touched(self, run: Run, training: bool) -> frozenset[int]:
        """Return what a run does beside its result that may reach the logits."""
        said: dict[int, bool] = {}
        for number, node in (*run.effects.items(), *run.calls.items()):
            if number in self._shared:
                continue
            plain = self.terms.plain(number, training)
            if plain not in said:
                said[plain] = matters(self.script, self.terms, plain, node)
        return frozenset(number for number, loud in said.items() if loud)

    @cached_property
    def _shared(self) -> set[int]:
        """The effects and calls of both runs, which make no difference."""
        one, two = self.train, self.eval
        return (one.effects.keys() & two.effects.keys()) | (one.calls.keys() & two.calls.keys())

    def _touching(self) -> Iterator[int]:
        """Yield the questions whose answer, changed alone, changes what a run does beside its result."""
        train = self._touched(self.train, True)
        for question in self.questions if len(self.questions) <= _MOST_QUESTIONS else ():
            one = self._run(lambda q, asked=question: q == asked)  # type: ignore[misc]
            if self._touched(one, True) != train:
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
