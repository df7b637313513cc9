"""Whether the lines after a lenient load of weights raise where anything was missing or unexpected."""

from __future__ import annotations

import libcst as cst

from reviewer.dataflow.endings import ends, statements
from reviewer.scope import dotted
from reviewer.script import Script


def is_checked(script: Script, call: cst.Call) -> bool:
    """Tell whether both lists that a load gives are known to be empty once the next lines have run."""
    assign = script.tree.parent(call)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return False
    target = assign.targets[0].target
    if isinstance(target, cst.Name):
        wanted = {f"{target.value}.missing_keys", f"{target.value}.unexpected_keys"}
    elif isinstance(target, cst.Tuple) and len(target.elements) == 2:
        wanted = {dotted(element.value) for element in target.elements}
    else:
        return False
    if len(wanted) != 2 or "" in wanted:
        return False
    return wanted <= _empty_after(script, assign)


def _empty_after(script: Script, assign: cst.Assign) -> set[str]:
    """Return what the statements right after an assignment, tests one after the other, make sure is empty."""
    line = script.tree.parent(assign)
    block = script.tree.parent(line) if line is not None else None
    empty: set[str] = set()
    if block is None:
        return empty
    every = list(statements(block)) if not isinstance(block, cst.Module) else list(_of_module(block))
    at = next((n for n, one in enumerate(every) if one is assign), len(every))
    for statement in every[at + 1 :]:
        if isinstance(statement, cst.Assert):
            empty |= _empty(statement.test, True)
        elif isinstance(statement, cst.If) and statement.orelse is None and ends(script, statement.body):
            empty |= _empty(statement.test, False)
        else:
            break
    return empty


def _of_module(module: cst.Module) -> list[cst.CSTNode]:
    lines = (one.body if isinstance(one, cst.SimpleStatementLine) else (one,) for one in module.body)
    return [statement for line in lines for statement in line]


def _empty(test: cst.BaseExpression, holds: bool) -> set[str]:
    """Return what is certainly empty where a test holds, or does not."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _empty(inner, not holds)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            both = isinstance(operator, cst.And) == holds
            one, other = _empty(left, holds), _empty(right, holds)
            return one | other if both else one & other
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            is_zero = isinstance(right, cst.Integer) and right.value == "0"
            is_list = isinstance(right, cst.List) and not right.elements
            wanted = (cst.Equal,) if holds else (cst.NotEqual, cst.GreaterThan)
            if isinstance(operator, wanted) and (is_zero or is_list):
                return {_measured(left)} if is_zero else {dotted(left)}
            return set()
        case cst.Name() | cst.Attribute() if not holds:
            return {dotted(test)}
        case cst.Call() if not holds:
            return {_measured(test)}
    return set()


def _measured(node: cst.CSTNode) -> str:
    """Return `a` of `len(a)`."""
    match node:
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=inner, keyword=None)]):
            return dotted(inner)
    return ""
