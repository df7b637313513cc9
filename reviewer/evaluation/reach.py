"""Which functions can run once the platform calls `load_for_eval`: its own, and those of the model that it returns.

Attributes are known by their names alone, so the list may be too long; it is for people who read a script, and no
verdict hangs on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.facts import Reached
from reviewer.script import Script

MOST = 400  # of one report


def reached_at_evaluation(script: Script) -> tuple[Reached, ...]:
    """Return them in source order, at most MOST; nothing for a script without a `load_for_eval`."""
    loaders = [f for f in script.forwards if f.name.value == "load_for_eval"]
    if not loaders:
        return ()
    found = script.calls.reachable(loaders)
    if not any(f.name.value in ("forward", "__call__") for f in _named(script, found)):
        found = script.calls.reachable(script.forwards)  # what it returns is not known: any of them
    functions = [f for f in _named(script, found) if not script.tree.is_outside(f)]
    spans = script.tree.spans(functions)
    places = sorted(
        (spans[id(f)].line, spans[id(f)].column, at, qualified_name(script, f)) for at, f in enumerate(functions)
    )
    return tuple(Reached(name, line) for line, _, _, name in places[:MOST])


def qualified_name(script: Script, function: cst.FunctionDef) -> str:
    """Return a function's name behind those of the classes and functions around it: `GPT.forward`, `outer.inner`."""
    around = [a for a in script.tree.ancestors(function) if isinstance(a, cst.FunctionDef | cst.ClassDef)]
    return ".".join([*(a.name.value for a in reversed(around)), function.name.value])


def _named(script: Script, found: set[int]) -> Iterator[cst.FunctionDef]:
    return (f for f in script.tree.of(cst.FunctionDef) if id(f) in found)
