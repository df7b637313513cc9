"""Takes a measurement on held-out text out of a script, where it certainly does nothing but be shown.

What goes is the statement that reads the split, what is only made of it, and the lines that print that. Where anything
else uses it (a choice of the checkpoint, an early end, a list that is kept) a person has to say what is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from reviewer.fold import names_in
from reviewer.found import Edit
from reviewer.nodes import children
from reviewer.script import Script
from reviewer.values import Own

_READING = frozenset({"prepare.evaluate_bpb", "prepare.make_dataloader"})  # these leave model and generators alone
_PURE = _READING | {f"builtins.{name}" for name in ("float", "min", "max", "round", "abs", "str", "len", "format")}
_SHOWING = frozenset({"print", "print0", "info", "debug", "log0"})
_SHOWN_BY = frozenset({"builtins.print", "builtins.open", "builtins.str", "builtins.open().write", "sys.stdout.flush"})
_MOST = 40
_WHY = "The run does not read held-out text any more."


class _Unclear(Exception):
    """Something else uses it."""


def removal(script: Script, node: cst.CSTNode) -> Sequence[Edit]:
    """Return what takes a reading and all that hangs on it away; nothing where that is not certain."""
    line = _line(script, node)
    if line is None:
        return ()
    taken: dict[int, cst.CSTNode] = {}
    try:
        _take(script, line, taken)
    except _Unclear:
        return ()
    return [Edit(one, "", _WHY) for one in _with_empty_blocks(script, taken)]


def _line(script: Script, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    for above in (node, *script.tree.ancestors(node)):
        if isinstance(above, cst.BaseSmallStatement):
            return above
        if isinstance(above, cst.BaseCompoundStatement | cst.Lambda):
            return None
    return None


def _take(script: Script, line: cst.BaseSmallStatement, taken: dict[int, cst.CSTNode]) -> None:
    """Take a statement away, and all that uses what it binds. Raises _Unclear."""
    if id(line) in taken:
        return
    if len(taken) > _MOST:
        raise _Unclear
    taken[id(line)] = line
    match line:
        case cst.Expr(value=cst.Call() as call):
            if not (_is_pure(script, call) or _shows(script, call)):
                raise _Unclear
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
            bindings = script.scopes.of(line).find(name)
            if len(bindings) != 1 or not _is_pure(script, value):
                raise _Unclear
            for use in script.mentions[name]:
                if use is line.targets[0].target:
                    continue
                user = _line(script, use)
                if user is None or script.scopes.of(use).find(name) is not bindings:
                    raise _Unclear
                _take(script, user, taken)
        case _:
            raise _Unclear


def _calls(node: cst.CSTNode) -> list[cst.Call]:
    found, todo = [], [node]
    while todo:
        one = todo.pop()
        if isinstance(one, cst.Call):
            found.append(one)
        if isinstance(one, cst.NamedExpr | cst.Await | cst.Yield):
            raise _Unclear
        todo.extend(children(one))
    return found


def _is_pure(script: Script, value: cst.CSTNode) -> bool:
    return all(set(paths) <= _PURE and bool(paths) for paths in map(script.path_of, _calls(value)))


def _shows(script: Script, call: cst.Call) -> bool:
    """Tell whether a call only prints, and what it prints changes nothing by being worked out."""
    name: Any = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    if not isinstance(name, cst.Name) or name.value not in _SHOWING or not _shows_alone(script, call):
        return False
    inner = [one for arg in call.args for one in _calls(arg)]
    harmless = ("item", "time", "perf_counter", "tolist", "format", "join")
    return all(_is_pure(script, one) or names_in(one.func) & set(harmless) for one in inner)


def _shows_alone(script: Script, call: cst.Call) -> bool:
    """Tell whether what is called is Python's, a logger, or a function of the script that does nothing but show."""
    values = script.values.of(call.func)
    if not all(isinstance(v, Own) for v in values):
        return any(
            path == "builtins.print" or path.startswith(("logging.", "prepare.")) for path in script.path_of(call)
        )
    if not values:
        return (
            isinstance(call.func, cst.Attribute)
            and isinstance(call.func.value, cst.Name)
            and not _is_set_here(script, call)
        )
    return all(isinstance(v, Own) and _only_shows(script, v.node) for v in values)


def _is_set_here(script: Script, call: cst.Call) -> bool:
    """Tell whether the script has a method of this name, which may be the one that is called."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in script.scopes.members


def _only_shows(script: Script, helper: cst.CSTNode) -> bool:
    inner = [script.path_of(one) for one in _calls(helper)]
    return all(paths and set(paths) <= _SHOWN_BY for paths in inner)


def _with_empty_blocks(script: Script, taken: dict[int, cst.CSTNode]) -> list[cst.CSTNode]:
    """Return what goes, with the `if` and `with` around it where nothing else is in them."""
    gone: dict[int, cst.CSTNode] = {}
    for line in taken.values():
        one: cst.CSTNode = line
        while True:
            block = script.tree.parent(one)
            block = script.tree.parent(block) if isinstance(block, cst.SimpleStatementLine) else block
            around = script.tree.parent(block) if isinstance(block, cst.IndentedBlock) else None
            if not isinstance(around, cst.If | cst.With) or not isinstance(block, cst.IndentedBlock):
                break
            inside = [
                s for part in block.body for s in (part.body if isinstance(part, cst.SimpleStatementLine) else [part])
            ]
            asks = isinstance(around, cst.If) and (around.orelse is not None or bool(_calls(around.test)))
            if asks or any(id(s) not in taken and id(s) not in gone for s in inside):
                break
            if isinstance(around, cst.If) and isinstance(script.tree.parent(around), cst.If):
                break
            one = around
            gone[id(one)] = one
        gone.setdefault(id(one), one)
    return [n for n in gone.values() if not any(id(above) in gone for above in script.tree.ancestors(n))]
