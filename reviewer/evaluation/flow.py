"""Runs the statements of a function symbolically, once as in training and once as in evaluation.

A *question* is a piece of code whose answer differs between the two: `self.training`, `torch.is_grad_enabled()`,
`targets is None`, an `inference` parameter, `__name__`, `sys.argv`, the existence of a path, an attribute that only
`load_for_eval` sets, and every oracle (`oracles.py`). Every other condition stays open: both arms are run and joined.
Loops run once, joined with their start. What is compared afterwards are the numbers of the terms (`terms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import libcst as cst

from reviewer.budget import TooMuch
from reviewer.evaluation.expressions import Expressions
from reviewer.evaluation.oracles import FAILING, Watched
from reviewer.evaluation.terms import EVERY, Terms
from reviewer.fold import names_in
from reviewer.scope import dotted, parameters
from reviewer.script import Script

EVAL_FLAG = re.compile(
    r"(is_|in_|for_|do_)?(eval|evaluate|evaluating|evaluation|inference|infer|scoring|sampling|generate|predict|predicting)"
    r"(_mode|_only|_flag)?$"
)
TRAIN_FLAG = re.compile(r"(is_|in_|for_)?(train|training)(_mode|_flag)?$")
TARGET = re.compile(r"(targets?|labels?|tgt|y|targets?_seq|target_ids|next_tokens)$")
_MOST_STEPS = 20_000


class Run(Expressions):
    """One symbolic run of a function."""

    def __init__(self, script: Script, terms: Terms, watched: Watched, evaluating: Callable[[int], bool]) -> None:
        super().__init__(script, terms, watched, evaluating)
        self.returned: list[int] = []
        self.ran: set[int] = set()  # the ids of the statements that this run has come to
        self._steps = 0

    def function(self, node: cst.FunctionDef) -> None:
        """Run a whole function with open parameters."""
        for param in parameters(node):
            name = param.name.value
            self._env[name] = self.terms.make((f"#{name}",))
            if TARGET.match(name):
                self.targets.add(self._env[name])
            elif EVAL_FLAG.match(name) or TRAIN_FLAG.match(name):
                self._env[name] = self._question(param, bool(TRAIN_FLAG.match(name)))
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
                self._assign(
                    node.target, self.terms.make((name, self._eval(node.target), self._eval(node.value)), node)
                )
            case cst.Expr():
                self._in_place(node.value, self._eval(node.value))
            case cst.If():
                return self._if(node)
            case cst.For() | cst.While():
                self._loop(node)
            case cst.With():
                return self._with(node)
            case cst.Try() | cst.TryStar():
                return self._try(node)
            case cst.Match():
                arms = [c.body.body for c in node.cases]
                self._join(self._eval(node.subject), arms)
        return False

    def _in_place(self, node: cst.BaseExpression, value: int) -> None:
        """`logits.mul_(2)` changes `logits`, and `rows.append(x)` a list that was empty."""
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            name, of = node.func.attr.value, node.func.value
            if name == "append" and isinstance(of, cst.Name) and self._env.get(of.value) == self.terms.make(("tuple",)):
                self._env[of.value] = self.terms.make((EVERY, self.terms.parts(value)[-1]))
            if name.endswith("_") and not name.endswith("__") and dotted(node.func.value):
                self._env[dotted(node.func.value)] = value

    def _if(self, node: cst.If) -> bool:
        test = self._eval(node.test)
        other: Sequence[cst.CSTNode] = ()
        if isinstance(node.orelse, cst.If):
            other = (node.orelse,)
        elif isinstance(node.orelse, cst.Else):
            other = node.orelse.body.body
        known = self.terms.truth(test)
        if known is not None:
            return self._block(node.body.body if known else other)
        return self._join(test, [node.body.body, other])

    def _join(self, test: int, arms: Sequence[Sequence[cst.CSTNode]]) -> bool:
        start, ends = self._env, []
        for arm in arms:
            self.terms.budget.spend(len(start) // 16)
            self._env = dict(start)
            if not self._block(arm):
                ends.append(self._env)
        if not ends:
            self._env = start
            return True
        self._env = ends[0]
        for end in ends[1:]:
            for name in {*self._env, *end}:
                missing = self.terms.make((f"#{name}",))
                one, two = self._env.get(name, missing), end.get(name, missing)
                self._env[name] = one if one == two else self.terms.make(("phi", test, one, two))
        return False

    def _loop(self, node: cst.For | cst.While) -> None:
        start = dict(self._env)
        over = self._eval(node.iter if isinstance(node, cst.For) else node.test)
        if isinstance(node, cst.For):
            self._assign(node.target, self.terms.make(("each", over)))
        self._block(node.body.body)
        for name, value in list(self._env.items()):
            if name in start and start[name] != value:
                self._env[name] = self.terms.make(("loop", over, start[name], value))
        if node.orelse is not None:
            self._block(node.orelse.body.body)

    def _with(self, node: cst.With) -> bool:
        hides = False  # errors, so that what stands in it runs in part
        for item in node.items:
            value = self._eval(item.item)
            if item.asname is not None:
                self._assign(item.asname.name, value)
            hides |= isinstance(item.item, cst.Call) and "contextlib.suppress" in self.script.path_of(item.item)
        if hides and self._may_fail(node.body):
            return self._either(node, node.body.body, [()])
        return self._block(node.body.body)

    def _try(self, node: cst.Try | cst.TryStar) -> bool:
        otherwise = node.orelse.body.body if node.orelse is not None else ()
        whole = [*node.body.body, *otherwise]
        handlers: list[Sequence[cst.CSTNode]] = [h.body.body for h in node.handlers]
        if handlers and self._may_fail(node.body):
            ended = self._either(node, whole, handlers)
        else:
            ended = self._join(self.terms.make((f"try {id(node)}",)), [whole, *handlers])
        if node.finalbody is not None:
            self._block(node.finalbody.body.body)
        return ended

    def _may_fail(self, body: cst.CSTNode) -> bool:
        """Tell whether a block asks the surroundings, so that it may fail on one of the two paths."""
        return self.watched.oracles and bool(names_in(body) & FAILING)

    def _either(
        self, node: cst.CSTNode, whole: Sequence[cst.CSTNode], handlers: Sequence[Sequence[cst.CSTNode]]
    ) -> bool:
        """Run a block in training, and what catches its errors in evaluation."""
        if self._question(node, True) == self.terms.true:
            return self._block(whole)
        return self._join(self.terms.make((f"try {id(node)}",)), handlers)
