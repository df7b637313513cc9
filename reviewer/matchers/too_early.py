"""Attempts of a module that always fail, for they read a name that is bound only below them."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.endings import ends
from reviewer.matchers.unused import looks_up_names
from reviewer.nodes import children
from reviewer.script import Script

_LATER = (
    *(cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.If, cst.IfExp, cst.Try, cst.For, cst.While, cst.With),
    *(cst.BooleanOperation, cst.BaseComp, cst.Import, cst.ImportFrom, cst.AssignTarget, cst.Del, cst.Global),
)
_CATCHING = frozenset({"builtins.NameError", "builtins.Exception", "builtins.BaseException"})


def always_failing(script: Script) -> Iterator[tuple[cst.Try, cst.Name]]:
    """Yield each that catches its own failure in silence, with the first name that is not there yet."""
    for attempt in script.tree.of(cst.Try):
        if script.tree.parent(attempt) is script.tree.module and any(_is_silent(script, h) for h in attempt.handlers):
            early = next((name for name in _read_at_once(attempt.body) if _is_early(script, name)), None)
            if early is not None and not looks_up_names(script):
                yield attempt, early


def _is_silent(script: Script, handler: cst.ExceptHandler) -> bool:
    catches = handler.type is None or not _CATCHING.isdisjoint(script.values.paths(handler.type))
    return catches and not ends(script, handler.body)


def _read_at_once(body: cst.BaseSuite) -> Iterator[cst.Name]:
    """Yield the names in a block that runs as it stands: nothing of functions, arms and inner attempts."""
    todo: list[cst.CSTNode] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Name):
            yield node
        elif isinstance(node, cst.Attribute | cst.Arg):
            todo.append(node.value)
        elif not isinstance(node, _LATER):
            todo.extend(reversed(list(children(node))))


def _is_early(script: Script, name: cst.Name) -> bool:
    """Tell whether nothing above a name speaks of it and an import or an assignment of the module below binds it."""
    if hasattr(builtins, name.value) or script.mentions[name.value][0] is not name:
        return False
    if any(isinstance(i.names, cst.ImportStar) for i in script.tree.of(cst.ImportFrom)):
        return False
    return any(_binds(script, mention) for mention in script.mentions[name.value][1:])


def _binds(script: Script, mention: cst.Name) -> bool:
    above = script.tree.parent(mention)
    while isinstance(above, cst.AsName | cst.ImportAlias | cst.AssignTarget | cst.Import | cst.ImportFrom | cst.Assign):
        if isinstance(above, cst.Import | cst.ImportFrom | cst.Assign):
            line = script.tree.parent(above)
            return line is not None and script.tree.parent(line) is script.tree.module
        above = script.tree.parent(above)
    return False
