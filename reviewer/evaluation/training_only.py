"""Which places of a model run in training alone: under `self.training`, `targets is not None` and their like."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.evaluation.flow import TRAIN_FLAG
from reviewer.evaluation.targets import TARGET
from reviewer.script import Script

_HOPS = 3
# By these a layer gets at its parts without their names.
_BY_TEXT = frozenset(
    ["getattr", "vars", "__dict__", "children", "modules", "named_children", "named_modules", "_modules"]
)
_MOST_SITES = 16
_LEFT: WeakKeyDictionary[Script, dict[int, set[int]]] = WeakKeyDictionary()


def only_in_training(script: Script, node: cst.CSTNode, hops: int = 0) -> bool:
    """Tell whether a place runs in training alone: a question says so, here or around every call of its function."""
    script.budget.spend()
    below = node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.If | cst.IfExp):
            yes, no = implied(script, above.test)
            if (yes and below is above.body) or (no and below is above.orelse):
                return True
        elif isinstance(above, cst.IndentedBlock):
            if id(below) in _left_to_training(script, above):
                return True
        elif isinstance(above, cst.FunctionDef):
            sites = script.calls.sites.get(id(above), ())
            if hops >= _HOPS or not sites or len(sites) > _MOST_SITES or above.name.value in ("forward", "__call__"):
                return False
            return all(only_in_training(script, call, hops + 1) for call, _ in sites)
        below = above
    return False


def _left_to_training(script: Script, block: cst.IndentedBlock) -> set[int]:
    """Return the ids of the statements of a block that come after `if not self.training: return` or its like."""
    known = _LEFT.setdefault(script, {})
    if id(block) not in known:
        known[id(block)] = found = set()
        ended = False
        for statement in block.body:
            if ended:
                found.add(id(statement))
            elif isinstance(statement, cst.If) and implied(script, statement.test)[1] and _ends(statement.body):
                ended = True
    return known[id(block)]


def trains_alone(script: Script, cls: cst.ClassDef, parameter: str) -> bool:
    """Tell whether what a class makes of a parameter is used in training alone: heads that look further ahead, say.

    Each attribute that is made of it must be used by the model only where a question says that this is training, or
    beside that question.
    """
    makers = [b.node for b in script.scopes.scope(cls).names.get("__init__", ()) if b.kind == "def"]
    made: set[str] = set()
    for use in script.mentions.get(parameter, ()):
        if not any(script.scopes.function_of(use) is maker for maker in makers):
            continue
        statement = next((a for a in script.tree.ancestors(use) if isinstance(a, cst.Assign | cst.AnnAssign)), None)
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
        targets += [statement.target] if isinstance(statement, cst.AnnAssign) else []
        names = {t.attr.value for t in targets if isinstance(t, cst.Attribute)}
        if len(names) != len(targets) or not names:
            if isinstance(script.tree.parent(use), cst.Param):
                continue
            return False
        made |= names
    runs = script.modelled.runs
    if any(runs(use) for word in _BY_TEXT & script.mentions.keys() for use in script.mentions[word]):
        return False
    uses = [use for name in made for use in script.mentions.get(name, ()) if runs(use)]
    return bool(made) and all(_beside(script, use) or only_in_training(script, use) for use in uses)


def _beside(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a place is in a condition that says, when it holds, that this is training."""
    below = node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.If | cst.IfExp):
            return above.test is below and implied(script, above.test)[0]
        if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            return False
        below = above
    return False


def _ends(body: cst.BaseSuite) -> bool:
    last = [*statements(body)][-1:]
    return bool(last) and isinstance(last[0], cst.Return | cst.Raise)


def implied(script: Script, test: cst.CSTNode, hops: int = 0) -> tuple[bool, bool]:
    """Tell whether a condition that holds, and one that does not, says that this is training."""
    match test:
        case cst.Attribute(attr=cst.Name(value="training")):
            return True, False
        case cst.Name(value=name):
            if TRAIN_FLAG.match(name):
                return True, False
            bound = script.scopes.of(test).find(name)  # `noisy = self.training and self.noise > 0`
            node = bound[0].node if len(bound) == 1 and bound[0].kind == "expr" else None
            return implied(script, node, hops + 1) if node is not None and hops < _HOPS else (False, False)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="is_grad_enabled"))):
            return True, False
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            yes, no = implied(script, inner, hops)
            return no, yes
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            (a, b), (c, d) = implied(script, left, hops), implied(script, right, hops)
            return (a or c, b and d) if isinstance(operator, cst.And) else (a and c, b or d)
        case cst.Comparison(left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(operator, other)]):
            if TARGET.match(name) and isinstance(other, cst.Name) and other.value == "None":
                return isinstance(operator, cst.IsNot), isinstance(operator, cst.Is)
    return False, False
