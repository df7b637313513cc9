"""What a script carries and never runs or uses: arms behind a constant, what follows an end, names nobody mentions.

Both the rule (H703) and the fixer read it. The rule says all of it; the fixer takes away what its other repairs have
opened, and leaves alone what was dead before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.found import Edit
from reviewer.matchers.unused import looks_up_names, unused
from reviewer.nodes import below, children
from reviewer.repairs.closing import closed, closed_arm
from reviewer.script import Script

Edits = Callable[[], Sequence[Edit]]
Kind = Literal["branch", "flat", "rest", "import", "constant", "function"]
_PLAIN = (str, int, float, bool, type(None))
_ENDS = (cst.Return, cst.Raise, cst.Break, cst.Continue)
_STEPS_OF_A_NODE = 4
_CHECKED = ("TYPE_CHECKING", "__debug__")
_SIDES = (cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation)
_FOLDED = (cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison)


@dataclass(frozen=True)
class Dead:
    """One dead thing: `flat` is a test that is always true and has no other arm, so that nothing is lost in it."""

    kind: Kind
    name: str
    node: cst.CSTNode
    edits: Edits


def find_dead(script: Script) -> Iterator[Dead]:
    """Yield everything dead in a script."""
    yield from _branches(script)
    yield from _rests(script)
    for kind, name, node in unused(script):
        yield Dead(kind, name, node, lambda node=node: (Edit(node, ""),))  # type: ignore[misc]


def _branches(script: Script) -> Iterator[Dead]:
    for node in script.tree.of(cst.If):
        if type(node.test) not in _FOLDED or (known := truth(script, node.test)) is None:
            continue
        lost = node.orelse if known else node.body
        if lost is None or not _makes_generator(script, lost):
            kind: Kind = "branch" if lost is not None else "flat"
            edits = partial(_unless_local, script, lost, partial(closed, script, node, known))
            yield Dead(kind, script.tree.code(node.test), node, edits)
    for arms in script.tree.of(cst.IfExp):
        if type(arms.test) in _FOLDED and (known := truth(script, arms.test)) is not None:
            yield Dead("branch", script.tree.code(arms.test), arms, lambda n=arms, k=known: closed_arm(script, n, k))  # type: ignore[misc]
    for loop in script.tree.of(cst.While):
        never = type(loop.test) in _FOLDED and truth(script, loop.test) is False
        if never and loop.orelse is None and not _makes_generator(script, loop.body):
            edits = partial(_unless_local, script, loop.body, lambda n=loop: (Edit(n, ""),))  # type: ignore[misc]
            yield Dead("branch", script.tree.code(loop.test), loop, edits)


def truth(script: Script, test: cst.BaseExpression) -> bool | None:
    """Return what a test always is, None where it may be either."""
    match test:
        case cst.Name(value=name) if name in _CHECKED:
            return None
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            known = truth(script, inner)
            return None if known is None else not known
        case cst.BooleanOperation(left=left, right=right):
            stops = isinstance(test.operator, cst.Or)
            if truth(script, left) is stops or (truth(script, right) is stops and isinstance(left, cst.Name)):
                return stops
            return (not stops) if truth(script, left) is truth(script, right) is (not stops) else None
        case cst.Comparison(left=left, comparisons=[target]):
            return _compared(script, left, target)
        case cst.Name() | cst.Integer() | cst.Float() | cst.SimpleString():
            value = _constant(script, test)
            return None if value is UNKNOWN else bool(value)
    return None


def _compared(script: Script, left: cst.BaseExpression, target: cst.ComparisonTarget) -> bool | None:
    if type(left) not in _SIDES or type(target.comparator) not in _SIDES:
        return None
    one, two = _constant(script, left), _constant(script, target.comparator)
    if one is UNKNOWN or two is UNKNOWN:
        return None
    match target.operator:
        case cst.Equal():
            return bool(one == two)
        case cst.NotEqual():
            return bool(one != two)
        case cst.Is() if two is None:
            return one is None
        case cst.IsNot() if two is None:
            return one is not None
        case cst.GreaterThan() if type(one) in (int, float) and type(two) in (int, float):
            return bool(one > two)
        case cst.LessThan() if type(one) in (int, float) and type(two) in (int, float):
            return bool(one < two)
    return None


def _constant(script: Script, node: cst.BaseExpression) -> Any:
    if isinstance(node, cst.Name) and node.value not in ("True", "False", "None") and looks_up_names(script):
        return UNKNOWN
    value = script.values.constant(node)
    return value if isinstance(value, _PLAIN) else UNKNOWN


def _rests(script: Script) -> Iterator[Dead]:
    """Yield what follows the first `return`, `raise`, `break` or `continue` in its block."""
    ended: set[int] = set()
    for end in (*script.tree.both(cst.Return, cst.Raise), *script.tree.both(cst.Break, cst.Continue)):
        line = script.tree.parent(end)
        block = script.tree.parent(line) if line is not None else None
        body: Any = getattr(block, "body", None)
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(body, tuple | list) or id(block) in ended:
            continue
        ended.add(id(block))
        at = next(i for i, one in enumerate(body) if _ends(one))
        rest = body[at + 1 :]
        if rest and not any(_makes_generator(script, one) for one in rest):
            name = next(type(one).__name__.lower() for one in body[at].body if type(one) in _ENDS)
            yield Dead("rest", name, rest[0], lambda rest=rest: [Edit(one, "") for one in rest])  # type: ignore[misc]


def _ends(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(type(one) in _ENDS for one in statement.body)


def _makes_generator(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether code says something of the function around it without running: `yield`, `global`."""
    todo = [node]
    while todo:
        one = todo.pop()
        script.budget.spend(_STEPS_OF_A_NODE)
        if isinstance(one, cst.Yield | cst.Await | cst.Global | cst.Nonlocal):
            return True
        if not isinstance(one, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            todo.extend(children(one))
    return False


def _unless_local(script: Script, lost: cst.CSTNode | None, edits: Edits) -> Sequence[Edit]:
    """Return the edits that take code out, unless a name is local by that code alone: `def f(): if OFF: x = 1`.

    Without it, `x` would be another one's, where now there is none.
    """
    function = None if lost is None else script.scopes.function_of(lost)
    if lost is None or not isinstance(function, cst.FunctionDef):
        return edits()
    scope = script.scopes.scope(function)
    inner = {id(node) for node in below(lost)}
    for name, bindings in scope.names.items():
        script.budget.spend()
        if all(id(binding.node) in inner for binding in bindings) and scope.parent and scope.parent.find(name):
            uses = [use for use in script.mentions.get(name, ()) if id(use) not in inner]
            if any(above is function for use in uses for above in script.tree.ancestors(use)):
                return ()
    return edits()
