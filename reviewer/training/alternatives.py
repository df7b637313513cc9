"""Whether losses are those of different predictions of one text, or of one model as time goes by.

Two losses with the same truth are alternatives, unless a loop around one of them draws the truth anew. One loss in a
loop stands for alternatives where the loop changes who predicts and not what is predicted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from reviewer.fold import names_in
from reviewer.script import Script
from reviewer.training.judged import Loss, root

_LOOPS = (cst.For, cst.While, cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp, cst.Lambda)
# What a run is set up with: choosing it by the loss on training text is ordinary.
_SETTING = re.compile(
    r"(\w*_)?(lrs?|rate|wd|decay|beta\d?|momentum|seed|epoch|step|it|iteration|clip|bits|config)(_\w+)?$"
)
_HOPS = 4


def are_alternatives(script: Script, chosen: cst.CSTNode, found: Collection[Loss]) -> bool:
    """Tell whether a choice among these losses is a choice among predictions of the same text."""
    ones = list({id(loss.call): loss for loss in found}.values())
    for i, one in enumerate(ones):
        for other in ones[:i]:
            script.modelled.budget.spend(8)
            if _truth(script, one) == _truth(script, other) and not _apart(script, one, other):
                return True
    return any(_varies(script, chosen, one) for one in ones)


def _truth(script: Script, loss: Loss) -> str:
    name = root(loss.truth)
    return name.value if name is not None else script.tree.code(loss.truth)


def _loops(script: Script, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for above in script.tree.ancestors(node):
        if isinstance(above, _LOOPS):
            yield above
        elif isinstance(above, cst.FunctionDef):
            return


def _apart(script: Script, one: Loss, other: Loss) -> bool:
    """Tell whether the truth of one is drawn anew in a loop that the other is not in, or between them."""
    if script.scopes.function_of(one.call) is not script.scopes.function_of(other.call):
        return True
    mine, its = list(_loops(script, one.call)), list(_loops(script, other.call))
    for loss, loops, others in ((one, mine, its), (other, its, mine)):
        if any(loop not in others and _is_bound(script, loss.truth, loop) for loop in loops):
            return True
    name = root(one.truth)
    bindings = script.scopes.of(name).find(name.value) if name is not None else ()
    drawn = [b for b in bindings if b.kind in ("expr", "drawn")]
    return len(drawn) > 1 and len({id(script.tree.parent(b.node)) for b in drawn if b.node is not None}) > 1


def _is_bound(script: Script, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Tell whether a loop binds a name that an expression is made of."""
    for name in names_in(node):
        for binding in script.scopes.of(node).find(name):
            if binding.scope.node is loop and binding.kind == "param":
                return True
            if binding.node is not None and any(a is loop for a in script.tree.ancestors(binding.node)):
                return True
    return False


def _varies(script: Script, chosen: cst.CSTNode, loss: Loss) -> bool:
    for loop in _loops(script, loss.call):
        if _is_bound(script, loss.truth, loop):
            return False
        if _follows(script, loss.judged, loop) and not any(_SETTING.match(n) for n in _drawn(loop)):
            return True
    return False


def _drawn(loop: cst.CSTNode) -> set[str]:
    """Return the names that change from round to round."""
    if isinstance(loop, cst.Lambda):
        return {p.name.value for p in loop.params.params}
    inner = getattr(loop, "for_in", loop)
    return names_in(inner.target) - {"_"} if isinstance(inner, cst.For | cst.CompFor) else set()


def _follows(script: Script, node: cst.CSTNode, loop: cst.CSTNode, hops: int = 0) -> bool:
    """Tell whether an expression depends on what changes from round to round of a loop."""
    names = names_in(node)
    if names & _drawn(loop):
        return True
    for name in names if hops < _HOPS else ():
        for binding in script.scopes.of(node).find(name)[:8]:
            script.modelled.budget.spend()
            inside = binding.node is not None and any(a is loop for a in script.tree.ancestors(binding.node))
            if inside and binding.node is not None and _follows(script, binding.node, loop, hops + 1):
                return True
    return False
