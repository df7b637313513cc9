"""Which expressions are the tokens to be predicted: targets by name or by use, and inputs shifted towards the past."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.finding.named_calls import word_of
from reviewer.fold import names_in
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.training.judged import Loss, root

NAMED = re.compile(
    r"(tgts?|targets?|labels?|gold|(next|true)_(tok(en)?s?|ids?))(_(np|ids?|tok(en)?s?|flat|seq|cpu|arr|long|batch))?$"
)
_TOKENS = re.compile(r"(\w+_)?(idx|ids?|tok(en)?s?|inputs?|input_seq|seq|context|x|xs|u)$")


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
