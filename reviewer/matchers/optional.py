"""How a package is used whose import may fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.fold import names_in
from reviewer.script import Script

_FAILING = frozenset({"builtins.ImportError", "builtins.ModuleNotFoundError", "builtins.Exception"})


def use_of_optional(script: Script, plain: cst.Import, name: str) -> Literal["none", "guarded", "free"]:
    """Tell whether what an import binds is used: not at all, only behind a test of whether it is there, or freely."""
    attempt = script.tree.enclosing(plain, cst.Try)
    if attempt is None or script.scopes.function_of(attempt) is not script.scopes.function_of(plain):
        return "free"
    if not any(path in _FAILING for handler in attempt.handlers for path in script.values.paths(handler.type)):
        return "free"
    if any(text.value[1:-1] == name for text in script.tree.of(cst.SimpleString)):
        return "free"  # looked up by its name, perhaps
    flags = {name} | set(_set_in(attempt))
    uses = [node for node in script.mentions[name] if _is_use(script, node)]
    if not uses:
        return "none"
    return "guarded" if all(_is_guarded(script, use, flags) for use in uses) else "free"


def _set_in(attempt: cst.Try) -> Iterator[str]:
    for body in (attempt.body, *(handler.body for handler in attempt.handlers)):
        for assign in (s for s in statements(body) if isinstance(s, cst.Assign)):
            yield from (t.target.value for t in assign.targets if isinstance(t.target, cst.Name))


def _is_use(script: Script, node: cst.Name) -> bool:
    """Tell whether a name is more than bound, and more than asked for."""
    below: cst.CSTNode = node
    for above in script.tree.ancestors(node):
        match above:
            case cst.ImportAlias() | cst.AssignTarget():
                return False
            case cst.Call() | cst.Attribute():
                return True
            case cst.If(test=test) | cst.IfExp(test=test) | cst.Assert(test=test) if test is below:
                return False
            case cst.Comparison() | cst.BooleanOperation() | cst.UnaryOperation() | cst.ComparisonTarget():
                below = above
            case _:
                return True
    return True


def _is_guarded(script: Script, use: cst.Name, flags: set[str]) -> bool:
    below: cst.CSTNode = use
    for above in script.tree.ancestors(use):
        match above:
            case cst.If(test=test, body=body) | cst.IfExp(test=test, body=body) if body is below:
                if flags & names_in(test):
                    return True
            case cst.BooleanOperation(left=left, operator=cst.And(), right=right) if right is below:
                if flags & names_in(left):
                    return True
        below = above
    return False
