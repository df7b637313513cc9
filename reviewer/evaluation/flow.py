"""Runs the statements of a function symbolically, once as in training and once as in evaluation.

A *question* is a piece of code whose answer differs between the two: `self.training`, `torch.is_grad_enabled()`,
`targets is None`, an `inference` parameter, `__name__`, `sys.argv`, the existence of a path, an attribute that only
`load_for_eval` sets, and every oracle (`oracles.py`). Every other condition stays open: both arms are run and joined.
Loops run once, joined with their start. What is compared afterwards are the numbers of the terms (`terms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import libcst as cst

from reviewer.budget import TooMuch
from reviewer.evaluation.in_place import InPlace
from reviewer.evaluation.oracles import ASKING, FAILING, Watched
from reviewer.evaluation.targets import handed_targets, is_first_asked, targets_of
from reviewer.evaluation.terms import Terms
from reviewer.fold import names_in
from reviewer.scope import Function, dotted, parameters
from reviewer.script import Script
from reviewer.values import Own

EVAL_FLAG = re.compile(
    r"(is_|in_|for_|do_)?(eval|evaluate|evaluating|evaluation|inference|infer|scoring|sampling|generate|predict|predicting)"
    r"(_mode|_only|_flag)?$"
)
TRAIN_FLAG = re.compile(r"(is_|in_|for_)?(train|training)(_mode|_flag)?$")
_MOST_STEPS = 20_000
_MOST_DEEP = 3  # helpers of helpers


class Run(InPlace):
    """One symbolic run of a function."""

    def __init__(self, script: Script, terms: Terms, watched: Watched, evaluating: Callable[[int], bool]) -> None:
        super().__init__(script, terms, watched, evaluating)
        self.ran: set[int] = set()  # the ids of the statements that this run has come to
        self._steps, self._depth = 0, 0
        self._exits: list[tuple[bool, dict[str, int]]] = []  # how the loop that runs is left: by a break?

    def function(self, node: Function) -> None:
        """Run a whole function with open parameters."""
        every, may_lack = targets_of(self.script, node), is_first_asked(node)
        for param in parameters(node):
            name = param.name.value
            self._env[name] = self.terms.make((f"#{name}",))
            if name in every:
                self.targets.add(self._env[name])
                if name in may_lack:
                    self.optional.add(self._env[name])
            elif param.default is not None and not isinstance(param.default, cst.Name | cst.BaseNumber):
                asked = len(self.questions)
                given = self._eval(param.default)
                if len(self.questions) > asked:
                    self._env[name] = given
            elif EVAL_FLAG.match(name) or TRAIN_FLAG.match(name):
                self._env[name] = self._question(param, bool(TRAIN_FLAG.match(name)))
        if isinstance(node, cst.Lambda):
            self.returned.append(self._eval(node.body))
        else:
            self._block(node.body.body)

    # Each of these returns True if nothing after it can run.

    def _block(self, body: Sequence[cst.CSTNode]) -> bool:
        return any(self._statement(s) for s in body)

    def _statement(self, node: cst.CSTNode) -> bool:
        self._steps += 1
        self.ran.add(id(node))
        if self._steps > _MOST_STEPS:
            raise TooMuch
        match node:
            case cst.SimpleStatementLine():
                return self._block(node.body)
            case cst.Return():
                self.returned.append(self.terms.none if node.value is None else self._eval(node.value))
                return True
            case cst.Raise():
                return True
            case cst.Assign():
                value = self._eval(node.value)
                for target in node.targets:
                    self._assign(target.target, value)
            case cst.AnnAssign() if node.value is not None:
                self._assign(node.target, self._eval(node.value))
            case cst.AugAssign():
                name = "op " + type(node.operator).__name__.removesuffix("Assign")
                before = self._eval(node.target)
                value = self.terms.make((name, before, self._eval(node.value)), node)
                self._assign(node.target, value)
                if isinstance(node.target, cst.Name) and self.terms.is_data(before):
                    self._spread(before, value, node, but=node.target.value)  # a tensor becomes another one
            case cst.Expr():
                self._eval(node.value)
            case cst.Del():
                self._delete(node.target)
            case cst.Break() | cst.Continue():
                self._exits.append((isinstance(node, cst.Break), self._env))
                return True
            case cst.Assert():
                self._eval(node.test)
            case cst.If():
                return self._if(node)
            case cst.For() | cst.While():
                self._loop(node)
            case cst.With():
                return self._with(node)
            case cst.Try() | cst.TryStar():
                return self._try(node)
            case cst.Match():
                return self._match(self._eval(node.subject), node.cases)
            case cst.FunctionDef() | cst.ClassDef():
                self._define(node)
            case cst.ImportFrom(names=[*aliases]):
                for alias in aliases:
                    if alias.asname is not None:
                        self._assign(alias.asname.name, self.terms.make((f"#{dotted(alias.name)}",)))
        return False

    def _call(self, node: cst.Call) -> int:
        """Look into a helper that is given targets: what it judges is what this function says."""
        value = super()._call(node)
        helpers = [v for v in self.script.values.of(node.func) if isinstance(v, Own)] if self.targets else []
        if len(helpers) == 1 and self._depth < _MOST_DEEP and isinstance(helpers[0].node, cst.FunctionDef):
            helper = helpers[0].node
            if handed_targets(self.script).get(id(helper)):
                before = len(self.judged)
                self._inside(helper, self.script.calls.arguments(helper, node, helpers[0]))
                if len(self.judged) > before:
                    self.losses.add(value)
        return value

    def _inside(self, helper: cst.FunctionDef, given: Mapping[str, cst.BaseExpression]) -> None:
        """Run a helper with what is given to it."""
        kept = self._env, self.returned, self._exits
        self._env = {name: self._eval(value) for name, value in given.items()}
        self.returned, self._exits, self._depth = [], [], self._depth + 1
        self._block(helper.body.body)
        self._depth -= 1
        self._env, self.returned, self._exits = kept

    def _define(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        """Remember a function or class inside of this function by what it says, and what it may read of this one."""
        names = names_in(node.body) - {node.name.value}
        given = [p.default for p in parameters(node) if p.default is not None] if isinstance(node, Function) else []
        self.nested[node.name.value] = names
        self._env[node.name.value] = self.terms.make(
            (f"def {self.script.tree.code(node.body)}", *(self._eval(one) for one in given))
        )

    def _delete(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._delete(element.value)
        elif isinstance(target, cst.Subscript | cst.Attribute):
            self._assign(target, self.terms.make(("deleted",)))

    def _if(self, node: cst.If) -> bool:
        test = self._asked(node.test, self._eval(node.test))
        other: Sequence[cst.CSTNode] = ()
        if isinstance(node.orelse, cst.If):
            other = (node.orelse,)
        elif isinstance(node.orelse, cst.Else):
            other = node.orelse.body.body
        known = self.terms.truth(test)
        if known is not None:
            return self._block(node.body.body if known else other)
        return self._join(test, [node.body.body, other])

    def _match(self, subject: int, cases: Sequence[cst.MatchCase]) -> bool:
        """Run the cases as a chain of questions; what no case takes runs on."""
        if not cases:
            return False
        case, rest = cases[0], cases[1:]
        test = self._pattern(case.pattern, subject)
        if case.guard is not None and self.terms.truth(test) is not False:
            guard = self._eval(case.guard)
            test = guard if self.terms.truth(test) else self.terms.make(("and", test, guard))
            test = self.terms.false if self.terms.truth(guard) is False else test
        known = self.terms.truth(test)
        if known is not None:
            return self._block(case.body.body) if known else self._match(subject, rest)
        return self._either_of(test, [lambda: self._block(case.body.body), lambda: self._match(subject, rest)])

    def _pattern(self, pattern: cst.CSTNode, subject: int) -> int:
        """Return whether a pattern fits, as a term, and bind what it catches."""
        terms = self.terms
        match pattern:
            case cst.MatchAs(pattern=None, name=caught):
                if caught is not None:
                    self._env[caught.value] = subject
                return terms.true
            case cst.MatchSingleton(value=value) | cst.MatchValue(value=value):
                one, known = self._eval(value), (terms.true, terms.false, terms.none)
                if one in known and subject in known:
                    return terms.true if one == subject else terms.false
                return terms.make(("compare", subject, one))
        for name in names_in(pattern):
            self._env[name] = terms.make(("part", subject, f"'{name}'"))
        asked = [self._question(pattern, True)] if "training" in names_in(pattern) else []
        return terms.make((f"case {type(pattern).__name__} {self.script.tree.code(pattern)}", subject, *asked))

    def _join(self, test: int, arms: Sequence[Sequence[cst.CSTNode]]) -> bool:
        return self._either_of(test, [lambda arm=arm: self._block(arm) for arm in arms])  # type: ignore[misc]

    def _either_of(self, test: int, arms: Sequence[Callable[[], bool]]) -> bool:
        start, ends = self._env, []
        for arm in arms:
            self.terms.budget.spend(len(start) // 16)
            self._env = dict(start)
            if not arm():
                ends.append(self._env)
        if not ends:
            self._env = start
            return True
        self._meet(test, ends)
        return False

    def _meet(self, test: int, ends: Sequence[dict[str, int]]) -> None:
        """Go on with what several ways have come to."""
        self._env = ends[0]
        for end in ends[1:]:
            for name in {*self._env, *end}:
                missing = self.terms.make((f"#{name}",))
                one, two = self._env.get(name, missing), end.get(name, missing)
                self._env[name] = one if one == two else self.terms.make(("phi", test, one, two))

    def _loop(self, node: cst.For | cst.While) -> None:
        start, outer = dict(self._env), self._exits
        over = self._eval(node.iter if isinstance(node, cst.For) else node.test)
        if isinstance(node, cst.While) and self.terms.truth(over) is False:
            return
        self._exits = []
        if isinstance(node, cst.For):
            self._assign(node.target, self.terms.make(("each", over)))
        ended = self._block(node.body.body)
        exits, self._exits = self._exits, outer
        if exits:
            self._env = dict(self._env)
            self._meet(self.terms.make(("left", over)), [*([] if ended else [self._env]), *(env for _, env in exits)])
        for name, value in list(self._env.items()):
            if name in start and start[name] != value:
                self._env[name] = self.terms.make(("loop", over, start[name], value))
        if node.orelse is not None and any(is_break for is_break, _ in exits):
            self._join(self.terms.make(("left", over)), [node.orelse.body.body, ()])
        elif node.orelse is not None:
            self._block(node.orelse.body.body)

    def _with(self, node: cst.With) -> bool:
        hides = False  # errors, so that what stands in it runs in part
        for item in node.items:
            value = self._eval(item.item)
            if item.asname is not None:
                self._assign(item.asname.name, value)
            hides |= isinstance(item.item, cst.Call) and "contextlib.suppress" in self.script.path_of(item.item)
        if hides and (self._may_fail(node.body) or self._asks(node, node.body)):
            return self._either(node, node.body.body, [()])
        return self._block(node.body.body)

    def _try(self, node: cst.Try | cst.TryStar) -> bool:
        otherwise = node.orelse.body.body if node.orelse is not None else ()
        whole = [*node.body.body, *otherwise]
        handlers: list[Sequence[cst.CSTNode]] = [h.body.body for h in node.handlers]
        if handlers and (self._may_fail(node.body) or self._asks(node, node.body)):
            ended = self._either(node, whole, handlers)
        else:
            ended = self._join(self.terms.make((f"try {id(node)}",)), [whole, *handlers])
        if node.finalbody is not None:
            self._block(node.finalbody.body.body)
        return ended

    def _may_fail(self, body: cst.CSTNode) -> bool:
        """Tell whether a block asks the surroundings, so that it may fail on one of the two paths."""
        return self.watched.oracles and not names_in(body).isdisjoint(FAILING)

    def _asks(self, node: cst.CSTNode, body: cst.CSTNode) -> bool:
        """Tell whether a block that may fail asks a question, so that it may fail where the other answer is given."""
        if not names_in(body).isdisjoint(ASKING | self.watched.raising):
            self.unsure.add(id(node))
            return True
        return False

    def _either(
        self, node: cst.CSTNode, whole: Sequence[cst.CSTNode], handlers: Sequence[Sequence[cst.CSTNode]]
    ) -> bool:
        """Run a block in training, and what catches its errors in evaluation."""
        if self._question(node, True) == self.terms.true:
            return self._block(whole)
        return self._join(self.terms.make((f"try {id(node)}",)), handlers)
