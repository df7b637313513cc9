"""Which functions run on the way to scored logits: `load_for_eval`, and the model that it returns.

Unlike the list in `reach.py`, which is for people, a verdict hangs on this one. Methods are known by their names
alone, so those of a class that is no layer count only where an object of it is made on this way, or by the module.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.scope import Function
from reviewer.script import Script

_GRADIENTS = frozenset({"backward", "vjp", "jvp", "setup_context"})  # of a function of autograd: training alone
_MODES = frozenset({"eval", "train"})
_ONLY: WeakKeyDictionary[Script, frozenset[int]] = WeakKeyDictionary()
_KNOWN: WeakKeyDictionary[Script, frozenset[int]] = WeakKeyDictionary()


def loaders(script: Script) -> list[cst.FunctionDef]:
    """Return every `load_for_eval`."""
    return [f for f in script.forwards if f.name.value == "load_for_eval"]


def at_evaluation(script: Script) -> frozenset[int]:
    """Return the ids of the functions that may run between `load_for_eval` and the last logits."""
    if script not in _KNOWN:
        _KNOWN[script] = frozenset(_at_evaluation(script))
    return _KNOWN[script]


def only_for_scoring(script: Script) -> frozenset[int]:
    """Return the ids of `load_for_eval` and of the functions that nothing else in the script runs.

    A script may call its own `load_for_eval` to try it; that makes it no part of the training.
    """
    starts = loaders(script)
    if not starts:
        return frozenset()
    if script not in _ONLY:
        own = {id(f) for f in starts}
        reached = script.calls.reachable(starts)
        rest = [f for key, f in script.calls.functions.items() if key not in reached]
        makers = [f for f in script.calls.functions.values() if _makes_layer(script, f)]
        shared = script.calls.reachable([script.tree.module, *rest, *script.modelled.starts, *makers], but=own)
        _ONLY[script] = frozenset((reached - shared) | own)
    return _ONLY[script]


def _makes_layer(script: Script, function: Function) -> bool:
    """Tell whether this is the `__init__` of a layer: what it sets is how the layer is made, by whomever."""
    return _name(function) == "__init__" and script.modelled.is_layer(script.scopes.of(function).node)


def is_autograd(script: Script, home: cst.CSTNode) -> bool:
    """Tell whether this is a class of `torch.autograd.Function`."""
    bases = home.bases if isinstance(home, cst.ClassDef) else ()
    return any(path.endswith("autograd.Function") for base in bases for path in script.values.paths(base.value))


def _at_evaluation(script: Script) -> set[int]:
    functions, homes = script.calls.functions, _homes(script)
    starts: list[cst.CSTNode] = [*loaders(script), *script.modelled.starts, *_replaced(script)]
    starts += [f for f in script.tree.of(cst.FunctionDef) if f.name.value in _MODES and _is_of_layer(script, homes, f)]
    applied = [
        f for f in script.tree.of(cst.FunctionDef) if f.name.value == "forward" and _is_applied(script, homes, f)
    ]
    gradients = {k for k, home in homes.items() if _name(functions[k]) in _GRADIENTS and is_autograd(script, home)}
    others = {k for k, home in homes.items() if not script.modelled.is_layer(home) and not is_autograd(script, home)}
    found: set[int] = set()
    while True:
        but = gradients | {k for k in others if not _is_made(script, homes[k], found)}
        reached = script.calls.reachable(starts, but=but)
        marked = [f for f in _decorating(script, reached) if id(f) not in reached]
        used = [f for f in applied if id(f) not in reached and _is_used(script, homes[id(f)], reached)]
        if reached == found and not marked and not used:
            return found
        script.budget.spend(len(reached) // 8)
        found, starts = reached, [*starts, *marked, *used]


def _homes(script: Script) -> dict[int, cst.ClassDef]:
    """Return the classes of all methods, by the ids of the methods."""
    found = {}
    for key, function in script.calls.functions.items():
        home = script.scopes.of(function).node
        if isinstance(home, cst.ClassDef):
            found[key] = home
    return found


def _name(function: Function) -> str:
    return function.name.value if isinstance(function, cst.FunctionDef) else ""


def _is_of_layer(script: Script, homes: dict[int, cst.ClassDef], function: cst.FunctionDef) -> bool:
    return id(function) in homes and script.modelled.is_layer(homes[id(function)])


def _is_applied(script: Script, homes: dict[int, cst.ClassDef], function: cst.FunctionDef) -> bool:
    return id(function) in homes and is_autograd(script, homes[id(function)])


def _is_used(script: Script, home: cst.ClassDef, reached: set[int]) -> bool:
    """Tell whether one of these functions names a class."""
    return any(id(script.scopes.function_of(name)) in reached for name in script.mentions.get(home.name.value, ()))


def _is_made(script: Script, home: cst.ClassDef, reached: set[int]) -> bool:
    """Tell whether an object of this class is made by the module or by one of these functions."""
    for call, _ in script.calls.sites.get(id(home), ()):
        maker = script.scopes.function_of(call)
        if maker is None or id(maker) in reached:
            return True
    return False


def _replaced(script: Script) -> Iterator[cst.CSTNode]:
    """Yield the functions that become a `forward` or a `__call__` by assignment."""
    for name in ("forward", "__call__"):
        for binding in script.scopes.members.get(name, ()):
            if binding.kind == "expr" and binding.node is not None:
                yield from _functions_in(script, binding.node)


def _functions_in(script: Script, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the functions that a value is, or is made of: `f` of `MethodType(f, model)`."""
    values = list(script.values.of(node))
    if isinstance(node, cst.Call):
        values += [value for arg in node.args for value in script.values.of(arg.value)]
    yield from (v.node for v in values if hasattr(v, "node") and isinstance(v.node, Function))


def _decorating(script: Script, reached: set[int]) -> Iterator[cst.CSTNode]:
    """Yield the script's own functions that decorate one of these."""
    for mark in script.tree.of(cst.Decorator):
        function = script.tree.parent(mark)
        if id(function) in reached:
            yield from _functions_in(script, mark.decorator)
