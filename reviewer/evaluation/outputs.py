"""Which expressions of a function its results are made of, apart from losses and what is only counted."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.finding.named_calls import word_of
from reviewer.nodes import children
from reviewer.script import Script
from reviewer.training.judged import is_loss_name

_BESIDE = re.compile(r"\w*(loss|aux|balance|penalty|entropy|zloss|stat|metric|load|usage|importance|log)s?(_\w+)?$")
_LOSSES = re.compile(r"\w*(cross_entropy|nll_loss|mse_loss|_loss|kl_div|criterion)$")


def made_of(script: Script, function: cst.CSTNode) -> set[int]:
    """Return the ids of all expressions that the results of a function are made of."""
    seen: set[int] = set()
    todo: list[cst.CSTNode] = []
    for returned in script.scopes.returns.get(id(function), []):
        parts = [e.value for e in returned.elements] if isinstance(returned, cst.Tuple) else [returned]
        todo += [p for p in parts if not (isinstance(p, cst.Call) and _is_total(p))]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        script.modelled.budget.spend()
        seen.add(id(node))
        if isinstance(node, cst.Name):
            if not (is_loss_name(node.value) or _BESIDE.match(node.value)):
                bindings = script.scopes.of(node).find(node.value)
                todo += [b.node for b in bindings if b.kind in ("expr", "drawn") and b.node is not None]
        elif not (isinstance(node, cst.Call) and _LOSSES.match(word_of(node))):
            todo += children(node)
    return seen


def _is_total(call: cst.Call) -> bool:
    """Tell whether a result is one number, as a loss is."""
    return word_of(call) in ("mean", "sum", "item") and not call.args
