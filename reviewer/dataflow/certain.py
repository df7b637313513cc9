"""Whether a place is reached on every way through a script."""

from __future__ import annotations

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.fold import UNKNOWN
from reviewer.script import Script

_HOPS = 4


def is_certain(script: Script, node: cst.CSTNode, early: set[int], hops: int = 0) -> bool:
    """Tell whether nothing decides about this place: no branch around it, no early end before it, no caller."""
    script.budget.spend()
    below = node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.If | cst.IfExp) and not (isinstance(above, cst.If) and script.asks_main(above.test)):
            return False
        if isinstance(above, cst.Try | cst.BooleanOperation | cst.For | cst.While | cst.With | cst.Match | cst.Lambda):
            return False
        if isinstance(above, cst.FunctionDef):
            if id(above) in early or hops > _HOPS:
                return False
            sites = script.calls.sites.get(id(above), ())
            return any(is_certain(script, call, early, hops + 1) for call, _ in sites[:8])
        below = above
    return isinstance(below, cst.Module)


def ending_early(script: Script) -> set[int]:
    """Return the ids of the functions that may end before their last line."""
    ends = script.tree.both(cst.Return, cst.Raise)
    return {id(script.scopes.function_of(end)) for end in ends if script.tree.enclosing(end, cst.If) is not None}


def is_dead(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a place is certainly never reached: behind a constant that is false, or after the end of a block."""
    below = node
    for above in script.tree.ancestors(node):
        script.budget.spend()
        match above:
            case cst.If(test=test) | cst.IfExp(test=test) if below is not test:
                value = script.values.constant(test)
                if value is not UNKNOWN and bool(value) == (below is above.orelse):
                    return True
            case cst.While(test=test, body=body) if below is body:
                if script.values.constant(test) in (False, None, "", 0):
                    return True
            case cst.BooleanOperation(left=left, operator=operator, right=right) if below is right:
                value = script.values.constant(left)
                if value is not UNKNOWN and bool(value) == isinstance(operator, cst.Or):
                    return True
            case cst.IndentedBlock() | cst.SimpleStatementSuite():
                for earlier in statements(above):
                    if earlier is below or (isinstance(below, cst.SimpleStatementLine) and earlier in below.body):
                        break
                    if isinstance(earlier, cst.Return | cst.Raise | cst.Break | cst.Continue):
                        return True
        below = above
    return False
