"""Runs a function symbolically, once as in training and once as in evaluation.

A *question* is a piece of code whose answer differs between the two: `self.training`, `torch.is_grad_enabled()`,
`targets is None`, an `inference` parameter, `__name__`, `sys.argv`, the existence of a path, an attribute that only
`load_for_eval` sets. Every other condition stays open: both arms are run and joined. Loops run once, joined with
their start. What is compared afterwards are the numbers of the terms (`terms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libcst as cst

from reviewer.budget import TooMuch
from reviewer.fold import names_in
from reviewer.nodes import children
from reviewer.scope import Binding, dotted, parameters
from reviewer.script import Script
from reviewer.terms import Terms

EVAL_FLAG = re.compile(
    r"(is_|in_|for_|do_)?(eval|evaluate|evaluating|evaluation|inference|infer|scoring|sampling|generate|predict|predicting)"
    r"(_mode|_only|_flag)?$"
)
TRAIN_FLAG = re.compile(r"(is_|in_|for_)?(train|training)(_mode|_flag)?$")
TARGET = re.compile(r"(targets?|labels?|tgt|y|targets?_seq|target_ids|next_tokens)$")
_LOSS = re.compile(r"(^|[._])(\w*cross_entropy\w*|nll_loss|\w*ce_loss|\w*loss_fn|criterion|CrossEntropyLoss\(\))$")
_EXISTS = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists"})
_MOST_STEPS = 20_000
_OPEN = -1


class Run:
    """One symbolic run of a function. `evaluating` tells of each question whether it is answered as in evaluation."""

    def __init__(
        self, script: Script, terms: Terms, eval_attributes: Mapping[str, object], evaluating: Callable[[int], bool]
    ) -> None:
        self.script, self.terms, self._eval_attributes, self._evaluating = script, terms, eval_attributes, evaluating
        self.questions: dict[int, cst.CSTNode] = {}
        self.returned: list[int] = []
        self.judged: list[int] = []  # what a loss was computed of
        self.losses: set[int] = set()
        self.targets: set[int] = set()
        self._env: dict[str, int] = {}
        self._names: set[str] = set()  # parameters that are flags or targets
        self._steps = 0
        self._flags: dict[int, int] = {}  # id(constant, property or small function) -> the answer it gives, if any

    def function(self, node: cst.FunctionDef) -> None:
        """Run a whole function with open parameters."""
        for param in parameters(node):
            name = param.name.value
            self._env[name] = self.terms.make((f"#{name}",))
            if TARGET.match(name):
                self._names.add(name)
                self.targets.add(self._env[name])
            elif EVAL_FLAG.match(name) or TRAIN_FLAG.match(name):
                self._env[name] = self._question(param, bool(TRAIN_FLAG.match(name)))
        self._block(node.body.body)

    def _question(self, node: cst.CSTNode, in_training: bool) -> int:
        self.questions[id(node)] = node
        answer = in_training != self._evaluating(id(node))
        return self.terms.true if answer else self.terms.false

    # --- statements: each returns True if nothing after it can run

    def _block(self, body: Sequence[cst.CSTNode]) -> bool:
        return any(self._statement(s) for s in body)

    def _statement(self, node: cst.CSTNode) -> bool:
        self._steps += 1
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
                return self._block(node.body.body)
            case cst.Try() | cst.TryStar():
                return self._try(node)
            case cst.Match():
                arms = [c.body.body for c in node.cases]
                self._join(self._eval(node.subject), arms)
        return False

    def _assign(self, target: cst.CSTNode, value: int) -> None:
        if isinstance(target, cst.Name):
            self._env[target.value] = value
        elif isinstance(target, cst.Attribute):
            self._env[dotted(target)] = value
        elif isinstance(target, cst.Tuple | cst.List):
            term = self.terms.get(value)
            for i, element in enumerate(target.elements):
                known = term[0] == "tuple" and len(term) == len(target.elements) + 1
                self._assign(element.value, term[i + 1] if known else self.terms.make(("part", value, f"'{i}'")))
        elif isinstance(target, cst.Subscript):
            whole = self._eval(target.value)
            self._assign(target.value, self.terms.make(("store", whole, self._generic(target), value), target))

    def _in_place(self, node: cst.BaseExpression, value: int) -> None:
        """`logits.mul_(2)` changes `logits`."""
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            name = node.func.attr.value
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

    def _try(self, node: cst.Try | cst.TryStar) -> bool:
        arms: list[Sequence[cst.CSTNode]] = [node.body.body, *(h.body.body for h in node.handlers)]
        ended = self._join(self.terms.make((f"try {id(node)}",)), arms)
        if node.finalbody is not None:
            self._block(node.finalbody.body.body)
        return ended

    # --- expressions

    def _eval(self, node: cst.CSTNode) -> int:
        make = self.terms.make
        match node:
            case cst.Name():
                return self._name(node)
            case cst.SimpleString() | cst.Integer() | cst.Float():
                return make((f"'{node.value}",))
            case cst.Attribute():
                return self._attribute(node)
            case cst.UnaryOperation():
                value = self._eval(node.expression)
                if isinstance(node.operator, cst.Not) and self.terms.truth(value) is not None:
                    return self.terms.false if self.terms.truth(value) else self.terms.true
                return make(("op " + type(node.operator).__name__, value), node)
            case cst.BinaryOperation():
                name = "op " + type(node.operator).__name__
                return make((name, self._eval(node.left), self._eval(node.right)), node)
            case cst.BooleanOperation():
                return self._boolean(node)
            case cst.Comparison():
                return self._comparison(node)
            case cst.IfExp():
                test = self._eval(node.test)
                known = self.terms.truth(test)
                if known is not None:
                    return self._eval(node.body if known else node.orelse)
                return make(("phi", test, self._eval(node.body), self._eval(node.orelse)), node)
            case cst.NamedExpr():
                value = self._eval(node.value)
                self._assign(node.target, value)
                return value
            case cst.Call():
                return self._call(node)
            case cst.Tuple() | cst.List():
                return make(("tuple", *(self._eval(e.value) for e in node.elements)), node)
            case cst.Subscript():
                slices = any(isinstance(s.slice, cst.Slice) for s in node.slice)
                return make(
                    ("slice" if slices else "item", self._eval(node.value), *map(self._generic, node.slice)), node
                )
        return self._generic(node)

    def _generic(self, node: cst.CSTNode) -> int:
        parts = [self._eval(c) for c in children(node)]
        return self.terms.make((f"node {type(node).__name__}", *parts))

    def _name(self, node: cst.Name) -> int:
        name = node.value
        if name in self._env:
            return self._env[name]
        if name in ("True", "False", "None"):
            return self.terms.make((name,))
        if name == "__name__":
            return self.terms.make(("__name__",))
        bindings = self.script.scopes.module.names.get(name, ())
        return self._flag(bindings, self.terms.make((f"#{name}",)))

    def _flag(self, bindings: Sequence[Binding], otherwise: int) -> int:
        """Return the answer that a constant, a property or a small function gives, if it is a known one."""
        if len(bindings) != 1 or bindings[0].node is None:
            return otherwise
        node = bindings[0].node
        if bindings[0].kind == "def" and isinstance(node, cst.FunctionDef):
            returns = self.script.scopes.returns.get(id(node), [])
            if len(returns) != 1 or len(node.body.body) > 3:
                return otherwise
            wanted: cst.CSTNode = returns[0]
        elif bindings[0].kind == "expr":
            wanted = node
        else:
            return otherwise
        if id(node) not in self._flags:
            self._flags[id(node)] = _OPEN  # one that asks itself gives no answer
            saved, self._env = self._env, {}
            self._flags[id(node)] = self._eval(wanted)
            self._env = saved
        value = self._flags[id(node)]
        return value if value in (self.terms.true, self.terms.false) else otherwise

    def _attribute(self, node: cst.Attribute) -> int:
        name = dotted(node)
        if name in self._env:
            return self._env[name]
        attribute = node.attr.value
        if attribute == "training":
            return self._question(node, True)
        plain = self.terms.make(("attr", self._eval(node.value), attribute), node)
        if attribute in self._eval_attributes and name.startswith("self."):
            if self._question(node, True) == self.terms.true:
                given = self._eval_attributes[attribute]
                return self.terms.make((str(not given),)) if isinstance(given, bool) else plain
            given = self._eval_attributes[attribute]
            return (
                self.terms.make((str(given),)) if isinstance(given, bool) else self.terms.make(("evalset", attribute))
            )
        return self._flag([b for b in self.script.scopes.members.get(attribute, ()) if b.kind == "def"], plain)

    def _boolean(self, node: cst.BooleanOperation) -> int:
        left = self._eval(node.left)
        known, is_and = self.terms.truth(left), isinstance(node.operator, cst.And)
        if known is not None:
            return self._eval(node.right) if known == is_and else left
        right = self._eval(node.right)
        if self.terms.truth(right) is (not is_and):
            return right
        return self.terms.make(("and" if is_and else "or", left, right))

    def _comparison(self, node: cst.Comparison) -> int:
        left, target = self._eval(node.left), node.comparisons[0]
        right = self._eval(target.comparator)
        negative = isinstance(target.operator, cst.IsNot | cst.NotEqual | cst.NotIn)
        if len(node.comparisons) == 1:
            sides = {left, right}
            if self.terms.none in sides and sides & self.targets:
                return self._question(node, negative)  # in training there are targets
            if self.terms.make(("__name__",)) in sides:
                return self._question(node, not negative)
            known = [s for s in (left, right) if s in (self.terms.true, self.terms.false)]
            if known and left in known and right in known and isinstance(target.operator, cst.Is | cst.Equal):
                return self.terms.true if left == right else self.terms.false
            if left == right == self.terms.none and isinstance(target.operator, cst.Is | cst.IsNot):
                return self.terms.false if negative else self.terms.true
        if "argv" in names_in(node):
            return self._question(node, True)
        return self.terms.make(("compare", left, *map(self._generic, node.comparisons), type(target.operator).__name__))

    def _call(self, node: cst.Call) -> int:
        args: list[Any] = []
        first = 0
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value.startswith("max_seqlen"):
                continue  # how long the rows of a batch may get, which sizes buffers
            if arg.keyword is not None:
                args.append(arg.keyword.value)
            args.append(self._eval(arg.value))
        if isinstance(node.func, cst.Attribute):
            base, method = node.func.value, node.func.attr.value
            if method in ("is_grad_enabled", "is_inference_mode_enabled"):
                return self._question(node, method == "is_grad_enabled")
            if method in _EXISTS:
                return self._question(node, True)
            asked = self._flag([b for b in self.script.scopes.members.get(method, ()) if b.kind == "def"], -1)
            if asked >= 0:
                return asked
            name = f".{method}"
            if not self._is_module(base):
                args = [self._eval(base), *args]
                first = 1
        elif isinstance(node.func, cst.Name):
            name = node.func.value
            if any(p.endswith(("is_grad_enabled", "is_inference_mode_enabled")) for p in self.script.path_of(node)):
                return self._question(node, "grad" in self.script.path_of(node)[0])
            asked = self._flag(self.script.scopes.module.names.get(name, ()), -1)
            if asked >= 0 and not node.args:
                return asked
        else:
            name = ""
        if not name.startswith("."):
            value = self.terms.called(self._eval(node.func), args, node)
        else:
            value = self.terms.make((name, *args), node)
        if _LOSS.search(name):
            self.losses.add(value)
            self.judged.extend([a for a in args if isinstance(a, int)][first : first + 1])
        return value

    def _is_module(self, node: cst.CSTNode) -> bool:
        """Tell whether `node.f(...)` calls a function of a module, so that `node` is no data."""
        return any("(" not in p and not p.startswith("builtins.") for p in self.script.values.paths(node))
