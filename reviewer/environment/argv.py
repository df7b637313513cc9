"""Uses of the words of the launch command, `sys.argv`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import Own

_WORDS = frozenset({"sys.argv", "sys.orig_argv"})
_SHOWING = frozenset({"print", "print0", "info", "debug", "warning", "log", "write"})
_AS_TEXT = frozenset({"join", "str", "repr", "format", "list"})


def find_words(script: Script) -> Iterator[cst.CSTNode]:
    """Yield every use of the command's words that can change something."""
    bound = {name for name, path in script.imports if path in _WORDS}
    nodes: list[cst.CSTNode] = [a for a in script.tree.of(cst.Attribute) if a.attr.value in ("argv", "orig_argv")]
    nodes += [n for n in script.tree.of(cst.Name) if n.value in bound] if bound else []
    nodes += [call for _, call in script.calling(("builtins.getattr", "sys.__getattribute__"))]
    nodes += [s for s in script.tree.of(cst.Subscript) if "sys.__dict__" in script.values.paths(s.value)]
    for node in nodes:
        if _WORDS.intersection(script.values.paths(node)) and not _is_harmless(script, node):
            yield node


def _is_harmless(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a use is the file's own name, a target, or something that is only printed."""
    above = script.tree.parent(node)
    if isinstance(above, cst.AssignTarget | cst.ImportAlias | cst.AsName):
        return True
    if isinstance(above, cst.Subscript) and above.value is node and len(above.slice) == 1:
        index = above.slice[0].slice
        if isinstance(index, cst.Index) and script.values.constant(index.value) == 0:
            return True
        if isinstance(script.tree.parent(above), cst.AssignTarget):
            return True
    below: cst.CSTNode = node
    while above is not None and not isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
        if isinstance(above, cst.Call) and above.func is not below:
            name = _name(above)
            if name not in _AS_TEXT:
                own = any(isinstance(v, Own) for v in script.values.of(above.func))  # may keep what it is given
                return name in _SHOWING and not own and isinstance(script.tree.parent(above), cst.Expr)
        below, above = above, script.tree.parent(above)
    return False


def _name(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func)
