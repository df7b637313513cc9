"""Which losses an expression is made of, with the sign they have in it; followed backwards from the expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.evaluation.targets import TARGET
from reviewer.matchers.named_calls import named_calls, word_of
from reviewer.nodes import children
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.training.judged import Loss, is_loss_name, losses, root, told_by_name
from reviewer.values import Own

_HOPS = 3
_MOST = 16
_COLLECTING = frozenset({"append", "add", "extend", "insert", "appendleft"})
_AT_TRUTH = frozenset({"gather", "take_along_dim"})
_NO_LOSS = frozenset(["shape", "device", "dtype", "size", "numel", "backward", "step", "len", "range"])


@dataclass(frozen=True)
class Source:
    """One loss: where it is computed, its truth as it is known there, and whether it is turned round (a likelihood)."""

    loss: Loss
    negative: bool


class Sources:
    """Answers for one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._losses = losses(script)
        self._known: dict[tuple[int, int], frozenset[Source]] = {}
        self._gathered: dict[str, list[cst.BaseExpression]] | None = None

    def __bool__(self) -> bool:
        """Tell whether the script computes a loss at all."""
        words = self._script.mentions
        return bool(self._losses) or "gather" in words or any(map(is_loss_name, words))

    def of(self, node: cst.CSTNode | None, hops: int = 0) -> frozenset[Source]:
        """Return what an expression is made of."""
        if node is None:
            return frozenset()
        key = (id(node), hops)
        if key not in self._known:
            self._known[key] = frozenset()  # what is made of itself adds nothing
            self._known[key] = self._script.modelled.following(self._some, node, hops)
        return self._known[key]

    def _some(self, node: cst.CSTNode, hops: int) -> frozenset[Source]:
        return frozenset(list(self._made_of(node, hops))[:_MOST])

    def _made_of(self, node: cst.CSTNode, hops: int) -> Iterator[Source]:
        match node:
            case cst.Call():
                yield from self._call(node, hops)
            case cst.Name():
                yield from self._name(node, hops)
            case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
                yield from _turned(self.of(inner, hops))
            case cst.BinaryOperation(left=left, operator=cst.Subtract(), right=right):
                yield from self.of(left, hops)
                yield from _turned(self.of(right, hops))
            case cst.Attribute(value=value, attr=attr):
                if attr.value not in _NO_LOSS:
                    yield from self.of(value, hops)
            case cst.Subscript(value=value):
                yield from self.of(value, hops)
            case cst.Comparison() | cst.FunctionDef():
                return
            case cst.IfExp(body=body, orelse=orelse):
                yield from (*self.of(body, hops), *self.of(orelse, hops))
            case cst.DictComp(value=value):
                yield from self.of(value, hops)
            case cst.ListComp(elt=value) | cst.GeneratorExp(elt=value) | cst.SetComp(elt=value):
                yield from self.of(value, hops)
            case _:
                for child in children(node):
                    yield from self.of(child, hops)

    def _call(self, node: cst.Call, hops: int) -> Iterator[Source]:
        if id(node) in self._losses:
            yield Source(self._losses[id(node)], False)
            return
        name = word_of(node)
        if name in _NO_LOSS:
            return
        if name in _AT_TRUTH and (likelihood := self._at_the_truth(node)):
            yield Source(likelihood, True)
            return
        own = [v.node for v in self._script.values.of(node.func) if isinstance(v, Own)]
        for value in self._script.values.of(node.func):
            if isinstance(value, Own) and isinstance(value.node, cst.FunctionDef | cst.Lambda) and hops < _HOPS:
                yield from self._through(node, value, hops)
        if own:
            return
        found = [s for a in node.args for s in self.of(a.value, hops)]
        if isinstance(node.func, cst.Attribute):
            found += self.of(node.func.value, hops)
        yield from _turned(found) if name == "neg" else found

    def _through(self, call: cst.Call, own: Own, hops: int) -> Iterator[Source]:
        """Yield the losses that a helper returns; the truth it is given stands where it is called."""
        helper = own.node
        if not isinstance(helper, cst.FunctionDef | cst.Lambda):
            return
        names = {p.name.value for p in parameters(helper)}
        given: dict[str, cst.BaseExpression] | None = None
        for returned in self._script.scopes.returns.get(id(helper), [])[:4]:
            for source in self.of(returned, hops + 1):
                truth = root(source.loss.truth)
                if truth is None or truth.value not in names:
                    continue  # it draws its own text, so each call has another truth
                given = given or self._script.calls.arguments(helper, call, own)
                argument = given.get(truth.value)
                if argument is not None and getattr(argument, "value", "") != "None":
                    judged = call.args[0].value if call.args else call
                    yield Source(Loss(call, judged, argument), source.negative)

    def _name(self, node: cst.Name, hops: int) -> Iterator[Source]:
        for binding in self._script.scopes.of(node).find(node.value)[:_MOST]:
            if binding.kind not in ("expr", "drawn") or binding.node is None:
                continue
            found = self.of(binding.node, hops)
            yield from found
            told = binding.node
            if not found and isinstance(told, cst.Call) and is_loss_name(node.value) and (loss := told_by_name(told)):
                yield Source(loss, False)
        for value in self._put_into(node.value):
            if self._script.scopes.function_of(value) is self._script.scopes.function_of(node):
                yield from self.of(value, hops)

    def _put_into(self, name: str) -> list[cst.BaseExpression]:
        """Return what is put into a list or dict of this name: by `append`, or under a key."""
        if self._gathered is None:
            self._gathered = {}
            for call, _ in named_calls(self._script, _COLLECTING):
                into = call.func.value if isinstance(call.func, cst.Attribute) else None
                if isinstance(into, cst.Name) and call.args:
                    self._gathered.setdefault(into.value, []).append(call.args[-1].value)
            for assign in self._script.tree.of(cst.Assign):
                for target in assign.targets:
                    held = target.target.value if isinstance(target.target, cst.Subscript) else None
                    if isinstance(held, cst.Name):
                        self._gathered.setdefault(held.value, []).append(assign.value)
        return self._gathered.get(name, [])[:_MOST]

    def _at_the_truth(self, call: cst.Call) -> Loss | None:
        """Return `log_probs.gather(-1, targets[..., None])` as what it is: the likelihood of the truth."""
        given = [a.value for a in call.args if a.keyword is None or a.keyword.value in ("index", "indices")]
        truth = next((g for g in reversed(given) if self._is_truth(g)), None)
        if truth is None:
            return None
        judged = call.func.value if isinstance(call.func, cst.Attribute) and len(call.args) < 3 else given[0]
        return Loss(call, judged, truth)

    def _is_truth(self, node: cst.BaseExpression) -> bool:
        """Tell whether these are targets, or a name for a view of them: `t = targets.unsqueeze(-1)`."""
        name = root(node)
        if name is None or TARGET.match(name.value):
            return name is not None
        bindings = self._script.scopes.of(name).find(name.value)
        named = root(bindings[0].node) if len(bindings) == 1 and bindings[0].kind == "expr" else None
        return named is not None and bool(TARGET.match(named.value))


def _turned(found: frozenset[Source] | list[Source]) -> Iterator[Source]:
    return (Source(s.loss, not s.negative) for s in found)
