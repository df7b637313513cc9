"""Symbolic values of the expressions of one run of a function; what is asked in them is answered by the run.

A *question* is a piece of code whose answer differs between training and evaluation, and so is an *oracle*
(`oracles.py`), whose value is not yes or no. Everything else stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from reviewer.evaluation.oracles import (
    FILES,
    FLAGS,
    MAYBE,
    Watched,
    is_constant_maker,
    is_oracle,
    is_oracle_name,
    is_switch,
    says_no_more,
)
from reviewer.evaluation.terms import EVERY, ORACLE_EVAL, ORACLE_TRAIN, Terms
from reviewer.fold import names_in
from reviewer.nodes import children
from reviewer.scope import Binding, dotted, parameters
from reviewer.script import Script
from reviewer.values import Ref

_LOSS = re.compile(r"(^|[._])(\w*cross_entropy\w*|nll_loss|\w*ce_loss|\w*loss_fn|criterion|CrossEntropyLoss\(\))$")
_PICK = re.compile(r"(^|[._])(gather|take_along_dim)$")
_ABOUT = frozenset({"hasattr", "isinstance", "bool", "callable", "type", "str", "repr"})  # whether there is something
_OPEN = -1


class Expressions:
    """What expressions are in one run. `evaluating` tells of each question whether it is answered as in evaluation."""

    def __init__(self, script: Script, terms: Terms, watched: Watched, evaluating: Callable[[int], bool]) -> None:
        self.script, self.terms, self.watched, self._evaluating = script, terms, watched, evaluating
        self.questions: dict[int, cst.CSTNode] = {}
        self.judged: list[int] = []  # what a loss was computed of
        self.losses: set[int] = set()
        self.unsure: set[int] = set()  # questions that may be none
        self.targets: set[int] = set()
        self.optional: set[int] = set()  # those that scoring need not give
        self._env: dict[str, int] = {}
        self.nested: dict[str, set[str]] = {}  # functions inside of this one, with the names in them
        self.returned: list[int] = []
        self._asking: set[int] = set()  # those among them that ask a question on the way
        self._flags: dict[int, int] = {}  # id(constant, property or small function) -> the answer it gives, if any

    def _question(self, node: cst.CSTNode, in_training: bool) -> int:
        self.questions[id(node)] = node
        answer = in_training != self._evaluating(id(node))
        return self.terms.true if answer else self.terms.false

    def _asked(self, node: cst.CSTNode, value: int) -> int:
        """Return a condition; one about nothing but targets that scoring need not give is a question."""
        if self.optional and self.terms.truth(value) is None and self.terms.is_data(value):
            given = {n for n in self.terms.below(value) if self.terms.is_data(n) and not self.terms.parts(n)}
            if given <= self.optional:
                return self._question(node, True)
        return value

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
                if isinstance(node.operator, cst.Not):
                    value = self._asked(node.expression, value)
                    if self.terms.truth(value) is not None:
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
                test = self._asked(node.test, self._eval(node.test))
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
            case cst.Lambda():
                return self._lambda(node)
            case cst.Yield() if node.value is not None:
                value = self._eval(node.value.item if isinstance(node.value, cst.From) else node.value)
                self.returned.append(value)
                return make(("node Yield", value))
            case cst.Tuple() | cst.List():
                return make(("tuple", *(self._eval(e.value) for e in node.elements)), node)
            case cst.Subscript():
                if (looked_up := self._looked_up(node)) is not None:
                    return looked_up
                slices = any(isinstance(s.slice, cst.Slice) for s in node.slice)
                return make(
                    ("slice" if slices else "item", self._eval(node.value), *map(self._generic, node.slice)), node
                )
            case cst.Slice(lower=lower, upper=upper, step=step):  # `[:n]` and `[n:]` are two halves
                ends = (self.terms.none if end is None else self._eval(end) for end in (lower, upper, step))
                return make(("node Slice", *ends))
            case cst.ListComp(elt=elt, for_in=loop) | cst.GeneratorExp(elt=elt, for_in=loop) if (
                loop.inner_for_in is None
            ):
                return self._each(elt, loop, isinstance(node, cst.ListComp))
        return self._generic(node)

    def _each(self, elt: cst.BaseExpression, loop: cst.CompFor, is_list: bool) -> int:
        """Return what a comprehension makes of each thing, where its conditions leave any."""
        bound = names_in(loop.target)
        saved = {name: self._env[name] for name in bound if name in self._env}
        over = self._eval(loop.iter)
        self._assign(loop.target, self.terms.make(("each", over)))
        asked = [self._eval(one.test) for one in loop.ifs]
        if any(self.terms.truth(one) is False for one in asked):
            value = self.terms.make(("tuple",))
        else:
            value = self.terms.make(
                (EVERY, self._eval(elt), *asked) if is_list else ("node each", self._eval(elt), *asked)
            )
        for name in bound:
            self._env.pop(name, None)
        self._env.update(saved)
        return value

    def _lambda(self, node: cst.Lambda) -> int:
        """Return what a lambda gives for open arguments, with what its defaults are here."""
        saved = dict(self._env)
        given = [self._eval(param.default) for param in parameters(node) if param.default is not None]
        self._env.update({p.name.value: self.terms.make((f"#{p.name.value}",)) for p in parameters(node)})
        value = self.terms.make(("node Lambda", self._eval(node.body), *given))
        self._env = saved
        return value

    def _generic(self, node: cst.CSTNode) -> int:
        parts = [self._eval(c) for c in children(node)]
        return self.terms.make((f"node {type(node).__name__}", *parts))

    def _name(self, node: cst.Name) -> int:
        name = node.value
        if name in self._env:
            if name in self.nested:  # a function inside of this one is what it reads as well
                read = (self._env[n] for n in sorted(self.nested[name]) if n in self._env and n not in self.nested)
                return self.terms.make(("node def", self._env[name], *read))
            return self._env[name]
        if name in ("True", "False", "None"):
            return self.terms.make((name,))
        if self._is_watched(node, name) or (name == "__name__" and self.watched.oracles):
            return self._oracle(node)
        bindings = self.script.scopes.module.names.get(name, ())
        return self._flag(bindings, self.terms.make((f"#{name}",)))

    def _is_watched(self, node: cst.Name | cst.Attribute, name: str) -> bool:
        """Tell whether this is a name of the module that training alone changes, or comes from the surroundings."""
        if not self.watched.oracles or not name:
            return False
        if name in self.watched.names:
            root = name.split(".")[0]
            return self.script.scopes.of(node).find(root) is self.script.scopes.module.names.get(root)
        return is_oracle(self.script, node)

    def _oracle(self, node: cst.CSTNode) -> int:
        """Return a value that is one in training and another in evaluation."""
        self.questions[id(node)] = node
        if isinstance(node, cst.Call) and any(path.startswith(MAYBE) for path in self.script.path_of(node)):
            self.unsure.add(id(node))
        return self.terms.make((ORACLE_EVAL if self._evaluating(id(node)) else ORACLE_TRAIN, f"'{id(node)}"), node)

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
            before, judged, losses = len(self.questions), self.judged, self.losses
            self.judged, self.losses = [], set()
            self._flags[id(node)] = self._eval(wanted)
            self._env, self.judged, self.losses = saved, judged, losses
            if len(self.questions) > before:
                self._asking.add(id(node))
        value = self._flags[id(node)]
        answers = value >= 0 and (
            id(node) in self._asking or (self.terms.truth(value) is not None and value != self.terms.none)
        )
        return value if answers else otherwise

    def _attribute(self, node: cst.Attribute) -> int:
        name = dotted(node)
        if name in self._env:
            return self._env[name]
        if node.attr.value != "training" and self._is_watched(node, name):
            return self._oracle(node)
        return self._member(node, node.value, node.attr.value)

    def _member(self, node: cst.CSTNode, base: cst.CSTNode, attribute: str) -> int:
        """Return what an attribute of `base` is, however it is got at; `node` is the place."""
        if attribute == "training":
            return self._question(node, True)
        if self.watched.oracles and is_oracle_name(attribute):
            return self._oracle(node)
        plain = self.terms.make(("attr", self._eval(base), attribute), node)
        if attribute in self.watched.attributes and dotted(base).split(".")[0] == "self":
            given = self.watched.attributes[attribute]
            in_training = self._question(node, True) == self.terms.true
            if isinstance(given, bool):
                return self.terms.make((str(given != in_training),))
            return plain if in_training else self.terms.make(("evalset", attribute))
        return self._flag([b for b in self.script.scopes.members.get(attribute, ()) if b.kind == "def"], plain)

    def _looked_up(self, node: cst.Subscript) -> int | None:
        """Return `vars(self)["training"]` and `self.__dict__["training"]` as what they are: attributes."""
        key = node.slice[0].slice if len(node.slice) == 1 else None
        name = self.script.values.constant(key.value) if isinstance(key, cst.Index) else None
        match node.value:
            case cst.Attribute(value=base, attr=cst.Name(value="__dict__")) if isinstance(name, str):
                return self._member(node, base, name)
            case cst.Call(func=cst.Name(value="vars"), args=[cst.Arg(value=base)]) if isinstance(name, str):
                return self._member(node, base, name)
        return None

    def _got(self, node: cst.Call) -> int | None:
        """Return `getattr(self, "training")` and its relatives as what they are: attributes."""
        args = [a.value for a in node.args if a.keyword is None and not a.star]
        match node.func:
            case cst.Name(value="getattr") if len(args) >= 2:
                base, named = args[0], args[1]
            case cst.Attribute(value=base, attr=cst.Name(value="__getattribute__")) if args:
                named = args[-1]
            case cst.Attribute(
                value=cst.Attribute(value=base, attr=cst.Name(value="__dict__")), attr=cst.Name("get")
            ) if args:
                named = args[0]
            case cst.Attribute(
                value=cst.Call(func=cst.Name("vars"), args=[cst.Arg(value=base)]), attr=cst.Name("get")
            ) if args:
                named = args[0]
            case cst.Call(args=[cst.Arg(value=named)]) if args and self._makes_getter(node.func):
                base = args[0]
            case _:
                return None
        name = self.script.values.constant(named)
        return self._member(node, base, name) if isinstance(name, str) and name.isidentifier() else None

    def _makes_getter(self, node: cst.Call) -> bool:
        return "operator.attrgetter" in self.script.path_of(node)

    def _boolean(self, node: cst.BooleanOperation) -> int:
        left = self._asked(node.left, self._eval(node.left))
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
            if any(isinstance(n, cst.Name) and n.value == "__name__" for n in (node.left, target.comparator)):
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
        if (got := self._got(node)) is not None:
            return got
        args: list[Any] = []
        first = 0
        for arg in node.args:
            if arg.keyword is not None and says_no_more(self.script, arg) and self._is_foreign(node.func):
                continue  # how long the rows of a batch may get, which sizes buffers
            if arg.keyword is not None:
                args.append(arg.keyword.value)
            args.append(self._eval(arg.value))
        if isinstance(node.func, cst.Attribute):
            base, method = node.func.value, node.func.attr.value
            if method in FLAGS:
                return self._question(node, method == "is_grad_enabled")
            if method in FILES:
                return self._question(node, True)
            if self.watched.oracles and self._tells(node, args):
                return self._oracle(node)
            asked = self._flag([b for b in self.script.scopes.members.get(method, ()) if b.kind == "def"], -1)
            if asked >= 0:
                return asked
            if (whole := dotted(node.func)) in self._env:
                return self.terms.called(self._env[whole], args, node)
            name = f".{method}"
            if not self._is_module(base):
                args = [self._eval(base), *args]
                first = 1
        elif isinstance(node.func, cst.Name):
            name = node.func.value
            paths = self.script.path_of(node)
            if any(p.endswith(tuple(FLAGS)) for p in paths):
                return self._question(node, "grad" in paths[0])
            if self.watched.oracles and self._tells(node, args):
                return self._oracle(node)
            if name in _ABOUT and args and args[0] in self.optional:
                return self._question(node, True)
            asked = self._flag(self.script.scopes.module.names.get(name, ()), -1)
            if asked >= 0 and not node.args:
                return asked
        else:
            name = ""
        if not name.startswith("."):
            value = self.terms.called(self._eval(node.func), args, node)
        else:
            value = self.terms.make((name, *args), node)
        given = [a for a in args if isinstance(a, int)]
        if _LOSS.search(name):
            self.losses.add(value)
            self.judged.extend(given[first : first + 1])
        elif _PICK.search(name) and given and any(self.terms.below(a) & self.targets for a in given[1:]):
            self.losses.add(value)  # `logsumexp(logits) - logits.gather(-1, targets)` is a cross entropy by hand
            self.judged.append(self._scores(given[0]))
        return value

    def _scores(self, number: int) -> int:
        """Return what log-probabilities were made of: both have the same cross entropy."""
        term = self.terms.get(number)
        inner = self.terms.parts(number)
        return self._scores(inner[0]) if str(term[0]).endswith("log_softmax") and inner else number

    def _tells(self, node: cst.Call, args: Sequence[int | str]) -> bool:
        """Tell whether what is called says where it runs, or is a layer that is used to say so."""
        return is_oracle(self.script, node) or is_switch(self.script, node, any(map(self._is_data, args[:1])))

    def _is_data(self, part: int | str) -> bool:
        """Tell whether an argument is made of what the model is given, and not only of constants."""
        return isinstance(part, str) or (
            self.terms.is_data(part) and not is_constant_maker(str(self.terms.get(part)[0]))
        )

    def _is_foreign(self, node: cst.BaseExpression) -> bool:
        """Tell whether a function is imported, and not of this file."""
        values = self.script.values.of(node)
        return bool(values) and all(isinstance(value, Ref) for value in values) and not dotted(node).startswith("self.")

    def _is_module(self, node: cst.CSTNode) -> bool:
        """Tell whether `node.f(...)` calls a function of a module, so that `node` is no data."""
        return any("(" not in p and not p.startswith("builtins.") for p in self.script.values.paths(node))
