"""Which expressions of a function its results are made of, apart from what is only counted."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.matchers.named_calls import word_of
from reviewer.nodes import children
from reviewer.script import Script
from reviewer.training.judged import is_loss_name, loss_of

_BESIDE = re.compile(r"\w*(loss|aux|balance|penalty|entropy|zloss|stat|metric|load|usage|importance|log)s?(_\w+)?$")
_AUXILIARY = re.compile(r"aux|balance|penalty|entropy|reg|zloss|z_loss|router|commit")
_JUDGING = re.compile(r"\w*(cross_entropy|nll_loss)$")
_LOSSES = re.compile(r"\w*(cross_entropy|nll_loss|mse_loss|_loss|kl_div|criterion)$")


def made_of(script: Script, function: cst.CSTNode) -> set[int]:
    """Return the ids of all expressions that the results of a function are made of.

    Of a loss that it returns, what the loss judges counts, and not how the losses of all places are put together.
    """
    seen: set[int] = set()
    done: set[int] = set()  # of losses
    opened: set[tuple[int, bool]] = set()  # the values of which names have been taken up
    todo: list[tuple[cst.CSTNode, bool]] = []
    for returned in script.scopes.returns.get(id(function), []):
        parts = [e.value for e in returned.elements] if isinstance(returned, cst.Tuple) else [returned]
        todo += [(p, _is_total(p)) for p in parts]
    while todo:
        node, of_loss = todo.pop()
        if id(node) in (done if of_loss else seen):
            continue
        script.modelled.budget.spend()
        (done if of_loss else seen).add(id(node))
        if isinstance(node, cst.Name):
            is_loss = is_loss_name(node.value) and not _AUXILIARY.search(node.value)
            if is_loss or not _BESIDE.match(node.value):
                bindings = script.scopes.of(node).find(node.value)
                if (id(bindings), of_loss or is_loss) not in opened:
                    opened.add((id(bindings), of_loss or is_loss))
                    values = [b.node for b in bindings if b.kind in ("expr", "drawn") and b.node is not None]
                    todo += [(value, of_loss or is_loss) for value in values]
        elif isinstance(node, cst.Call) and _LOSSES.match(word_of(node)):
            judged = loss_of(node) if _JUDGING.match(word_of(node)) else None
            todo += [(judged.judged, False)] if judged is not None else []
        else:
            todo += [(child, of_loss) for child in children(node)]
    return seen


def _is_total(node: cst.CSTNode) -> bool:
    """Tell whether a result is one number, as a loss is: `(lse - true).mean() + 1e-4 * lse.square().mean()`."""
    todo, totals = [node], 0
    while todo:
        match todo.pop():
            case cst.BinaryOperation(left=left, right=right):
                todo += [left, right]
            case cst.Call(args=[]) as call if word_of(call) in ("mean", "sum", "item"):
                totals += 1
            case cst.Name(value=name) if is_loss_name(name):
                totals += 1
            case cst.Float() | cst.Integer():
                pass
            case _:
                return False
    return totals > 0
