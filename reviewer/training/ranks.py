"""Which of several processes a test lets through: the first one, the others, or nobody can say."""

from __future__ import annotations

import re
from typing import Literal

import libcst as cst

from reviewer.script import Script

Who = Literal["first", "others", "anyone"]
_RANK = re.compile(r"(?:get_|local_|global_|ddp_|node_|self_)*rank(?:_id)?\Z", re.IGNORECASE)
_FIRST = re.compile(
    r"(?:is_|am_|on_)?(?:global_|local_)?(?:master|main|primary|leader|chief|first)(?:_?(?:process|rank|proc|node))?\Z"
    r"|(?:is_)?rank_?(?:0|zero)\Z|is_main_process\Z",
    re.IGNORECASE,
)
_OTHER = {"first": "others", "others": "first", "anyone": "anyone"}
_HOPS = 4


def who(script: Script, test: cst.CSTNode, holds: bool = True, hops: int = 0) -> Who:
    """Return whom a test lets through where it holds, or does not: `first` where process 0 certainly passes."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return who(script, inner, not holds, hops)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            sides = [who(script, side, holds, hops) for side in (left, right)]
            if isinstance(operator, cst.And) == holds:  # both must pass
                return "others" if "others" in sides else "first" if sides == ["first", "first"] else "anyone"
            return "first" if "first" in sides else "others" if sides == ["others", "others"] else "anyone"
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            return _compared(script, left, operator, right, holds)
    name = _name(test)
    if _RANK.match(name):
        return "others" if holds else "first"
    if isinstance(test, cst.Name) and hops < _HOPS:
        bindings = script.scopes.of(test).find(name)
        if len(bindings) == 1 and bindings[0].kind == "expr" and bindings[0].node is not None:
            known = who(script, bindings[0].node, holds, hops + 1)
            if known != "anyone":
                return known
    if _FIRST.match(name):
        return "first" if holds else "others"
    return "anyone"


def is_rank(node: cst.CSTNode) -> bool:
    """Tell whether this is the number of a process, by its name."""
    return bool(_RANK.match(_name(node)))


def _compared(script: Script, left: cst.CSTNode, operator: cst.BaseCompOp, right: cst.CSTNode, holds: bool) -> Who:
    if is_rank(right):
        left, right = right, left
    value = script.values.constant(right)
    if not is_rank(left):
        return "anyone"
    if isinstance(operator, cst.In | cst.NotIn) and isinstance(value, list):
        passes = (0 in value) == isinstance(operator, cst.In)
    elif type(value) is int and isinstance(operator, cst.Equal | cst.NotEqual | cst.Is | cst.IsNot):
        passes = (value == 0) == isinstance(operator, cst.Equal | cst.Is)
    elif type(value) is int and isinstance(operator, cst.LessThan | cst.LessThanEqual):
        passes = value > 0 or (value == 0 and isinstance(operator, cst.LessThanEqual))
    elif type(value) is int and isinstance(operator, cst.GreaterThan | cst.GreaterThanEqual):
        passes = value < 0 or (value == 0 and isinstance(operator, cst.GreaterThanEqual))
    else:
        return "anyone"
    return "first" if passes == holds else "others"


def _name(node: cst.CSTNode) -> str:
    """Return the last word of a name, an attribute, or what a call without arguments calls."""
    match node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case cst.Call(func=func):
            return _name(func)
    return ""
