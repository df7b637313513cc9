"""Which parameters are the tokens to be predicted: by their names, and by what is given for them.

A name alone is no proof. The first thing that a function is given is what it works on, and what the model's own code
gives to a helper is a target only if it was one before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.fold import names_in
from reviewer.scope import Function, parameters
from reviewer.script import Script
from reviewer.values import Own

TARGET = re.compile(r"(targets?|labels?|tgt|y|targets?_seq|target_ids|next_tokens)$")
_HOPS = 3
_HANDED: WeakKeyDictionary[Script, dict[int, set[str]]] = WeakKeyDictionary()


def targets_of(script: Script, function: Function) -> set[str]:
    """Return the parameters of a function that are targets."""
    handed = handed_targets(script).get(id(function), set())
    method = isinstance(script.scopes.of(function).node, cst.ClassDef)
    names = [p.name.value for p in parameters(function)]
    named = {n for n in names[1 + (method and names[:1] == ["self"]) :] if TARGET.match(n)}
    if named - handed and _is_helper(script, function):
        named &= handed
    return named | (handed & set(names))


def _is_helper(script: Script, function: Function) -> bool:
    """Tell whether the model alone calls a function, so that all it is given can be seen."""
    sites = script.calls.sites.get(id(function), ())
    return bool(sites) and all(script.modelled.runs(call) for call, _ in sites)


def handed_targets(script: Script) -> dict[int, set[str]]:
    """Return the parameters that are given targets, under whatever name, by the ids of their functions."""
    if script not in _HANDED:
        found: dict[int, set[str]] = defaultdict(set)
        _HANDED[script] = found
        todo = [(name, 0) for word in script.mentions if TARGET.match(word) for name in script.mentions[word]]
        while todo:
            name, hops = todo.pop()
            script.budget.spend()
            for helper, parameter in _given_to(script, name):
                if parameter in found[id(helper)]:
                    continue
                found[id(helper)].add(parameter)
                inside = (n for n in script.mentions.get(parameter, ()) if script.scopes.function_of(n) is helper)
                todo += [(n, hops + 1) for n in inside] if hops < _HOPS else []
    return _HANDED[script]


def _given_to(script: Script, name: cst.Name) -> list[tuple[cst.FunctionDef, str]]:
    """Return the helpers that a name is given to, cast and reshaped as it may be, with their parameters."""
    node: cst.CSTNode = name
    above = script.tree.parent(node)
    while isinstance(above, cst.Attribute | cst.Subscript | cst.Call) and not isinstance(node, cst.Arg):
        node, above = above, script.tree.parent(above)  # `targets.flatten()`
    call = script.tree.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(above, cst.Arg) or above.keyword is node or not isinstance(call, cst.Call):
        return []
    found = []
    for value in script.values.of(call.func):
        if isinstance(value, Own) and isinstance(value.node, cst.FunctionDef):
            given = script.calls.arguments(value.node, call, value)
            found += [(value.node, key) for key, one in given.items() if one is node]
    return found


def is_first_asked(function: Function) -> set[str]:
    """Return the parameters that may be left out: what is asked of them tells training from scoring."""
    return {p.name.value for p in parameters(function) if p.default is not None and names_in(p.default) == {"None"}}
