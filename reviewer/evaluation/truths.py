"""Which expressions are the tokens to be predicted: targets by name or by use, and inputs shifted towards the past."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.fold import names_in
from reviewer.matchers.named_calls import word_of
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.training.judged import Loss, root

NAMED = re.compile(
    r"(tgts?|targets?|labels?|gold|(next|true)_(tok(en)?s?|ids?))(_(np|ids?|tok(en)?s?|flat|seq|cpu|arr|long|batch))?$"
)
_TOKENS = re.compile(r"(\w+_)?(idx|ids?|tok(en)?s?|inputs?|input_seq|seq|context|x|xs|u)$")
_SAME_PLACES = frozenset(
    [
        "clamp",
        "clamp_max",
        "clip",
        "minimum",
        "expand",
        "expand_as",
        "view",
        "reshape",
        "unsqueeze",
        "repeat",
        "to",
        "long",
    ]
)
_HOPS = 4


class Truths:
    """Answers for one script."""

    def __init__(self, script: Script, losses: dict[int, Loss]) -> None:
        self._script = script
        self._used: set[tuple[str, int]] = set()
        for loss in losses.values():
            name = root(loss.truth)
            if name is not None and not later(script, loss.truth) and not self._is_input(name):
                self._used.add((name.value, self._home(name)))

    def _home(self, name: cst.Name) -> int:
        """Return what tells the variables of one name apart: the list of what is bound to them."""
        return id(self._script.scopes.of(name).find(name.value))

    def _is_input(self, name: cst.Name) -> bool:
        """Tell whether a truth is a piece of what the function is given to read: its first parameter."""
        function = self._script.scopes.function_of(name)
        plain = [p.name.value for p in parameters(function) if p.name.value != "self"] if function is not None else []
        return plain[:1] == [name.value] and len(plain) > 0 and not NAMED.match(name.value)

    def words(self) -> set[str]:
        """Return the names under which truths stand in the script."""
        return {w for w in self._script.mentions if NAMED.match(w)} | {w for w, _ in self._used}

    def is_truth(self, node: cst.Name) -> bool:
        """Tell whether a name is the tokens to be predicted."""
        if (node.value, self._home(node)) in self._used:
            return True
        bindings = self._script.scopes.of(node).find(node.value)
        return bool(NAMED.match(node.value)) and any(b.kind in ("param", "expr", "drawn") for b in bindings)

    def is_shifted(self, call: cst.Call) -> bool:
        """Tell whether a call moves tokens to the left, so that each place reads the one after it."""
        name = word_of(call)
        args = [a.value for a in call.args if a.keyword is None]
        named = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
        if name == "roll":
            if not self._script.values.paths(call.func) and isinstance(call.func, cst.Attribute):
                args = [call.func.value, *args]
            shift = self._numbers(named.get("shifts", args[1] if len(args) > 1 else None))
            dims = self._numbers(named.get("dims", args[2] if len(args) > 2 else None))
            along = [s for s, d in zip(shift, dims, strict=False) if d in (1, -1)]
            return bool(args) and self.is_tokens(args[0]) and any(s < 0 for s in along)
        if name == "pad" and len(args) > 1:
            sides = self._numbers(args[1])
            return self._is_tail(args[0]) and sides[:1] == [0] and len(sides) > 1 and sides[1] > 0
        if name in ("cat", "concat", "concatenate", "hstack") and args and isinstance(args[0], cst.List | cst.Tuple):
            return bool(args[0].elements) and self._is_tail(args[0].elements[0].value)
        return False

    def reads_ahead(self, node: cst.Subscript | cst.Call) -> bool:
        """Tell whether tokens are read at places after their own: `tokens[:, torch.arange(T) + 1]`."""
        if isinstance(node, cst.Subscript):
            part = node.slice[-1].slice
            return isinstance(part, cst.Index) and self.is_tokens(node.value) and self._is_ahead(part.value)
        if word_of(node) not in ("index_select", "gather", "take_along_dim"):
            return False
        args: list[cst.BaseExpression] = [a.value for a in node.args]
        if isinstance(node.func, cst.Attribute) and not self._script.values.paths(node.func):
            args = [node.func.value, *args]
        return len(args) > 1 and self.is_tokens(args[0]) and any(self._is_ahead(a) for a in args[1:])

    def _is_ahead(self, node: cst.CSTNode, hops: int = 0) -> bool:
        """Tell whether an index is each place's own, and more."""
        if hops > _HOPS:
            return False
        self._script.modelled.budget.spend()
        match node:
            case cst.Name(value=name):
                bindings = self._script.scopes.of(node).find(name)
                given = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "expr" else None
                return given is not None and self._is_ahead(given, hops + 1)
            case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
                more = any(n > 0 for side in (left, right) for n in self._numbers(side))
                return (more and any(self._is_places(side) for side in (left, right))) or self._is_ahead(left, hops + 1)
            case cst.Call(args=[cst.Arg(value=start), cst.Arg(keyword=None), *_]) if word_of(node) == "arange":
                return any(n > 0 for n in self._numbers(start))
            case cst.Call(func=cst.Attribute(value=base)) if word_of(node) in _SAME_PLACES:
                return self._is_ahead(base, hops + 1) or self._is_ahead_first(node, hops)
            case cst.Subscript(value=base):
                return self._is_ahead(base, hops + 1)
        return False

    def _is_ahead_first(self, node: cst.Call, hops: int) -> bool:
        """Look at the first argument of `torch.clamp(places + 1, max=T - 1)`."""
        return bool(node.args) and self._is_ahead(node.args[0].value, hops + 1)

    def _is_places(self, node: cst.CSTNode) -> bool:
        """Tell whether an expression is the places of a row, counted from its start."""
        while isinstance(node, cst.Name):
            bindings = self._script.scopes.of(node).find(node.value)
            if len(bindings) != 1 or bindings[0].kind != "expr" or isinstance(bindings[0].node, cst.Name | None):
                return False
            node = bindings[0].node
        return isinstance(node, cst.Call) and word_of(node) == "arange"

    def is_stored_shift(self, target: cst.Subscript, value: cst.BaseExpression) -> bool:
        """Tell whether `before[:, :-1] = tokens[:, 1:]` stores each token one place too early."""
        last = target.slice[-1].slice if target.slice else None
        to_start = isinstance(last, cst.Slice) and last.lower is None and last.upper is not None
        end = self._numbers(last.upper) if isinstance(last, cst.Slice) and to_start else []
        return end[:1] != [] and end[0] < 0 and self._is_tail(value)

    def is_tokens(self, node: cst.CSTNode) -> bool:
        """Tell whether an expression is the tokens that a function is given."""
        name = root(node)
        if name is None or not isinstance(node, cst.Name | cst.Call | cst.Subscript) or not _TOKENS.match(name.value):
            return False
        return any(b.kind in ("param", "drawn", "expr") for b in self._script.scopes.of(name).find(name.value))

    def _is_tail(self, node: cst.CSTNode) -> bool:
        return later(self._script, node) and self.is_tokens(node)

    def _numbers(self, node: cst.CSTNode | None) -> list[int]:
        value = self._script.values.constant(node) if node is not None else None
        found = value if isinstance(value, list) else [value]
        return [v for v in found if isinstance(v, int)]


def later(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether an expression leaves out the first tokens of each row: `tokens[:, 1:]`."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    last = node.slice[-1].slice if isinstance(node, cst.Subscript) and node.slice else None
    if not isinstance(last, cst.Slice) or last.lower is None:
        return False
    start = script.values.constant(last.lower)
    return (isinstance(start, int) and start > 0) or bool(names_in(last.lower))
