"""Follows predictions backwards to where the truth enters them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from reviewer.evaluation.made_of import MadeOf
from reviewer.evaluation.truths import Truths
from reviewer.fold import UNKNOWN
from reviewer.matchers.named_calls import word_of
from reviewer.nodes import children
from reviewer.scope import dotted, parameters
from reviewer.script import Script
from reviewer.training.judged import Loss, is_loss_name
from reviewer.values import Own

_SHAPE = frozenset(["shape", "device", "dtype", "ndim", "size", "dim", "numel", "new_zeros", "new_ones", "stride"])
_BY_SHAPE = frozenset(["len", "zeros_like", "ones_like", "empty_like", "full_like", "isinstance", "range", "print"])
_AT = frozenset({"gather", "take_along_dim", "index_select", "take"})
_TOTALS = frozenset({"mean", "sum", "item", "backward"})
_NUMERIC = ("torch.", "numpy.")
_SILENT = frozenset({cst.Integer, cst.Float, cst.SimpleString, cst.Lambda})
_HOPS = 3
_MOST = 12


class TruthFlow:
    """Answers for one script: `entering` returns the place where a truth becomes part of an expression."""

    def __init__(self, script: Script, losses: dict[int, Loss], truths: Truths) -> None:
        self._script, self._losses, self.truths = script, losses, truths
        self._made_of = MadeOf(script.modelled)
        self._known: dict[tuple[int, bool], cst.CSTNode | None] = {}
        self._changed: dict[tuple[str, int], list[cst.CSTNode]] | None = None

    def entering(self, node: cst.CSTNode | None, *, judged: bool, hops: int = 0) -> cst.CSTNode | None:
        """Return where the truth enters an expression, or None.

        What a loss is computed of is `judged`; what is returned may itself be a loss, which is made of the truth.
        """
        if node is None or type(node) in _SILENT:
            return None
        key = (id(node), judged)
        if key not in self._known:
            self._known[key] = None  # what is made of itself adds nothing
            self._known[key] = self._script.modelled.following(self._enters, node, judged, hops)
        return self._known[key]

    def _enters(self, node: cst.CSTNode, judged: bool, hops: int) -> cst.CSTNode | None:
        handler = _HANDLERS.get(type(node))
        return self._first(list(children(node)), judged, hops) if handler is None else handler(self, node, judged, hops)

    def _attribute(self, node: cst.Attribute, judged: bool, hops: int) -> cst.CSTNode | None:
        if isinstance(node.value, cst.Name) and node.value.value == "self":
            bindings = self._script.scopes.members.get(node.attr.value, [])
            nodes = [b.node for b in bindings if b.kind == "expr" and b.node is not None]
            running = [n for n in nodes[:4] if self._script.modelled.runs(n)]
            return self._first(running, judged, hops)
        return None if node.attr.value in _SHAPE else self.entering(node.value, judged=judged, hops=hops)

    def _comparison(self, node: cst.Comparison, judged: bool, hops: int) -> cst.CSTNode | None:
        if len(node.comparisons) != 1:
            return self._first(list(children(node)), judged, hops)
        (target,) = node.comparisons
        if isinstance(target.operator, cst.Is | cst.IsNot) or self._is_constant(target.comparator):
            return None
        return self._first([node.left, target.comparator], judged, hops)

    def _choice(self, node: cst.IfExp, judged: bool, hops: int) -> cst.CSTNode | None:
        return self._first([node.body, node.orelse], judged, hops)

    def _subscript(self, node: cst.Subscript, judged: bool, hops: int) -> cst.CSTNode | None:
        if self.truths.reads_ahead(node):
            return node
        if not judged and self._made_of.data(node.value) and any(self._direct(p) for p in node.slice):
            return None  # the likelihood of the truth, which is a loss
        return self._first([node.value, *node.slice], judged, hops)

    def _comprehension(self, node: cst.ListComp | cst.GeneratorExp, judged: bool, hops: int) -> cst.CSTNode | None:
        return self.entering(node.elt, judged=judged, hops=hops)

    def _first(self, nodes: Sequence[cst.CSTNode], judged: bool, hops: int) -> cst.CSTNode | None:
        for node in nodes:
            if (hit := self.entering(node, judged=judged, hops=hops)) is not None:
                return hit
        return None

    def _is_constant(self, node: cst.CSTNode) -> bool:
        name = getattr(getattr(node, "attr", node), "value", "")
        known = any(word in str(name).lower() for word in ("ignore", "pad", "bos", "eos", "eot", "doc"))
        return known or self._script.values.constant(node) is not UNKNOWN

    def _direct(self, node: cst.CSTNode) -> bool:
        """Tell whether a truth stands in an expression itself, not behind a name."""
        self._script.modelled.budget.spend()
        if isinstance(node, cst.Name):
            return self.truths.is_truth(node)
        if isinstance(node, cst.Attribute):
            return node.attr.value not in _SHAPE and self._direct(node.value)
        return any(self._direct(child) for child in children(node))

    def _name(self, node: cst.Name, judged: bool, hops: int) -> cst.CSTNode | None:
        if self.truths.is_truth(node):
            return node
        if not judged and is_loss_name(node.value):
            return None
        bindings = self._script.scopes.of(node).find(node.value)
        if not bindings or bindings[0].scope is self._script.scopes.module:
            return None
        nodes = [b.node for b in bindings[:_MOST] if b.kind in ("expr", "drawn") and b.node is not None]
        nodes += self._changes().get((node.value, id(self._script.scopes.function_of(node))), [])[:_MOST]
        return self._first(nodes, judged, hops)

    def _changes(self) -> dict[tuple[str, int], list[cst.CSTNode]]:
        """Return what is put into a variable without binding it: `x[:, 1:] += e`, `x.add_(e)`."""
        if self._changed is not None:
            return self._changed
        self._changed, script = {}, self._script
        pairs: list[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]] = [
            (t.target, a.value, a) for a in script.tree.of(cst.Assign) for t in a.targets
        ]
        pairs += [(a.target, a.value, a) for a in script.tree.of(cst.AugAssign)]
        for target, value, statement in pairs:
            if isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
                shifted = isinstance(value, cst.BaseExpression) and self.truths.is_stored_shift(target, value)
                self._add(target.value, statement if shifted else value, value)
        for statement in script.tree.of(cst.Expr):
            call = statement.value
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
                base, word = call.func.value, call.func.attr.value
                if isinstance(base, cst.Name) and word[-1:] == "_" and word[-2:] != "__":
                    for arg in call.args:
                        self._add(base, arg.value, arg.value)
        return self._changed

    def _add(self, name: cst.Name, what: cst.CSTNode, value: cst.CSTNode) -> None:
        changed = self._changed if self._changed is not None else {}
        changed.setdefault((name.value, id(self._script.scopes.function_of(name))), []).append(what)
        if what is not value:
            self._known[id(what), True] = self._known[id(what), False] = what  # a store that shifts

    def _call(self, node: cst.Call, judged: bool, hops: int) -> cst.CSTNode | None:
        name = word_of(node)
        base = node.func.value if isinstance(node.func, cst.Attribute) else None
        if id(node) in self._losses or name in _SHAPE or name in _BY_SHAPE:
            return None
        if not judged and name in _TOTALS and not node.args:
            return None
        if self.truths.is_shifted(node) or self.truths.reads_ahead(node):
            return node
        if own := self._own(node):
            return self._through(node, own, judged, hops)
        args: list[cst.CSTNode] = [a.value for a in node.args]
        told = [a for a in args if self._direct(a)]
        if told and name in _AT:
            looked_in = base if base is not None and not self._script.values.paths(base) else args[0]
            return None if not judged and self._made_of.data(looked_in) else node
        if told and (len(told) == len(args) or name.startswith(("scatter", "index_", "embedding", "where", "masked"))):
            return node
        if not judged and "loss" in dotted(node.func).lower():
            return None
        if len(args) > 1 and not any(p.startswith(_NUMERIC) for p in self._script.values.paths(node.func)):
            # An unknown model or kernel that is given truths as they are computes its own loss.
            args = [a for a in args if not isinstance(self.entering(a, judged=judged, hops=hops), cst.Name)]
        found = self._first([*([base] if base is not None else []), *args], judged, hops)
        return node if found is not None and isinstance(found, cst.Name) and found in args else found

    def _own(self, node: cst.Call) -> Own | None:
        """Return the function of the script that is called, a layer's `forward` where an attribute holds a layer."""
        for value in self._script.values.of(node.func):
            if isinstance(value, Own) and isinstance(value.node, cst.FunctionDef):
                return value
        if dotted(node.func).startswith("self.") and isinstance(node.func, cst.Attribute):
            for binding in self._script.scopes.members.get(node.func.attr.value, [])[:4]:
                made = binding.node.func if isinstance(binding.node, cst.Call) else None
                for value in self._script.values.of(made):
                    names = self._script.scopes.scope(value.node).names if isinstance(value, Own) else {}
                    for forward in names.get("forward", ()):
                        if isinstance(forward.node, cst.FunctionDef):
                            return Own(forward.node)
        return None

    def _through(self, call: cst.Call, own: Own, judged: bool, hops: int) -> cst.CSTNode | None:
        helper = own.node
        if hops >= _HOPS or not isinstance(helper, cst.FunctionDef) or is_loss_name(helper.name.value):
            return None
        given = self._script.calls.arguments(helper, call, own)
        for returned in self._script.scopes.returns.get(id(helper), [])[:4]:
            if (hit := self.entering(returned, judged=judged, hops=hops + 1)) is not None:
                named = isinstance(hit, cst.Name) and hit.value not in given
                if not named:
                    return hit
        for param in parameters(helper):
            argument = given.get(param.name.value)
            if argument is None or (hit := self.entering(argument, judged=judged, hops=hops)) is None:
                continue
            if any(
                self._uses(r, param.name.value, judged) for r in self._script.scopes.returns.get(id(helper), [])[:4]
            ):
                return call if isinstance(hit, cst.Name) else hit
        return None

    def _uses(self, node: cst.CSTNode, name: str, judged: bool, hops: int = 0) -> bool:
        """Tell whether an expression is made of a parameter."""
        self._script.modelled.budget.spend()
        match node:
            case cst.Name(value=value):
                if value == name:
                    return True
                if hops > _MOST or (not judged and is_loss_name(value)):
                    return False
                bindings = self._script.scopes.of(node).find(value)
                nodes = [b.node for b in bindings if b.kind in ("expr", "drawn") and b.node is not None]
                local = [n for n in nodes[:4] if self._script.scopes.function_of(n) is not None]
                return any(self._uses(n, name, judged, hops + 1) for n in local)
            case cst.Attribute(attr=attr) if attr.value in _SHAPE:
                return False
            case cst.Comparison():
                return False
            case cst.Call():
                called = word_of(node)
                if id(node) in self._losses or called in _SHAPE or called in _BY_SHAPE or is_loss_name(called):
                    return False
        return any(self._uses(child, name, judged, hops + 1) for child in children(node))


_HANDLERS: dict[type, Callable[..., cst.CSTNode | None]] = {
    cst.Name: TruthFlow._name,
    cst.Call: TruthFlow._call,
    cst.Attribute: TruthFlow._attribute,
    cst.Comparison: TruthFlow._comparison,
    cst.IfExp: TruthFlow._choice,
    cst.Subscript: TruthFlow._subscript,
    cst.ListComp: TruthFlow._comprehension,
    cst.GeneratorExp: TruthFlow._comprehension,
}
