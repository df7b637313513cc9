"""Which functions can run once the platform calls `load_for_eval`: its own, and those of the model that it returns.

The call graph says most of it. Three things that it leaves out are added here, since a list of what can run must not
miss them: methods that a class inherits from another class of the file, properties, and functions that are handed on
by name (a hook, the function of a partial, of a checkpoint). Attributes are known by their names alone, so the list
may be too long; it is for people who read a script, and no verdict hangs on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import libcst as cst

from reviewer.facts import Reached
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.values import Own

MOST = 400  # of one report
_STARTED_BY_CLASS = ("__init__", "__post_init__", "__call__", "forward")
_PROPERTIES = ("property", "cached_property")
_STEPS_OF_A_BASE = 8


def reached_at_evaluation(script: Script) -> tuple[Reached, ...]:
    """Return them in source order, at most MOST; nothing for a script without a `load_for_eval`."""
    loaders = [f for f in script.forwards if f.name.value == "load_for_eval"]
    if not loaders:
        return ()
    beyond = left_out(script)
    found = closed(script, script.calls.reachable(loaders), beyond)
    if not any(f.name.value in ("forward", "__call__") for f in _named(script, found)):
        found = closed(
            script, script.calls.reachable(script.forwards), beyond
        )  # what it returns is not known: any of them
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


def left_out(script: Script) -> dict[int, set[int]]:
    """Return what the call graph leaves out: by the id of a function, those of others that run with it."""
    more = defaultdict(set, _handed_on(script))
    for holder, functions in _inherited(script):
        more[holder].update(functions)
    return more


def closed(script: Script, found: set[int], more: dict[int, set[int]]) -> set[int]:
    """Add what the call graph leaves out, and what that calls, until nothing more is added."""
    done: set[int] = set()
    while fresh := found - done:
        done |= fresh
        added = {one for holder in fresh for one in more.get(holder, ())} - found
        if added:
            found |= script.calls.reachable([script.calls.functions[one] for one in added], but=found)
    return found


def _handed_on(script: Script) -> dict[int, set[int]]:
    """Return by the id of a function which others it names without calling them, and which properties it reads."""
    found: dict[int, set[int]] = defaultdict(set)
    alike: dict[str, list[cst.FunctionDef]] = defaultdict(list)
    for function in script.tree.of(cst.FunctionDef):
        alike[function.name.value].append(function)
    for word, functions in alike.items():
        methods = {id(f) for f in functions if isinstance(script.scopes.of(f).node, cst.ClassDef)}
        properties = {id(f) for f in functions if any(_last(d.decorator) in _PROPERTIES for d in f.decorators)}
        every, own_names = {id(f) for f in functions}, {id(f.name) for f in functions}
        for name in script.mentions.get(word, ()):
            holder = script.scopes.function_of(name) if id(name) not in own_names else None
            if holder is not None:
                meant = _meant(script, name, every, methods, properties)
                script.budget.spend(1 + len(meant) // 32)
                found[id(holder)] |= meant
    return found


def _meant(script: Script, name: cst.Name, every: set[int], methods: set[int], properties: set[int]) -> set[int]:
    """Return which functions of this name it can stand for where it is not called; a property needs no call."""
    node: cst.CSTNode = name
    above = script.tree.parent(node)
    if isinstance(above, cst.Arg | cst.Param) and (above.keyword if isinstance(above, cst.Arg) else above.name) is name:
        return set()
    if isinstance(above, cst.Attribute) and above.attr is name:
        node, above = above, script.tree.parent(above)
        known = methods
    else:
        known = every & {id(b.node) for b in script.scopes.of(name).find(name.value)}
    return known & properties if isinstance(above, cst.Call) and above.func is node else known


def _last(node: cst.BaseExpression) -> str:
    node = node.attr if isinstance(node, cst.Attribute) else node
    return node.value if isinstance(node, cst.Name) else ""


def _inherited(script: Script) -> Iterator[tuple[int, set[int]]]:
    """Yield the id of each function that makes an object of a class, with what the class inherits and then runs."""
    for made in script.tree.of(cst.ClassDef):
        if not made.bases:
            continue
        inherited = {id(f) for f in _of_bases(script, made)}
        for call, _ in script.calls.sites.get(id(made), ()) if inherited else ():
            holder: Function | cst.Module | None = script.scopes.function_of(call)
            yield id(holder if holder is not None else script.tree.module), inherited


def _of_bases(script: Script, made: cst.ClassDef) -> Iterator[Function]:
    """Yield the methods that run with an object of this class and stand in the classes above it."""
    seen: set[int] = {id(made)}
    todo: list[cst.ClassDef] = [made]
    while todo:
        above = todo.pop()
        script.budget.spend(_STEPS_OF_A_BASE)
        if above is not made:
            names = script.scopes.scope(above).names
            yield from _functions(b.node for name in _STARTED_BY_CLASS for b in names.get(name, ()))
        for base in above.bases:
            for value in script.values.of(base.value):
                if isinstance(value, Own) and isinstance(value.node, cst.ClassDef) and id(value.node) not in seen:
                    seen.add(id(value.node))
                    todo.append(value.node)


def _functions(nodes: Iterable[cst.CSTNode | None]) -> Iterator[Function]:
    return (n for n in nodes if isinstance(n, cst.FunctionDef))
