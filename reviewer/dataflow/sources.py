"""What an expression is made of, followed backwards through names, fields, parameters and the script's own calls."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.nodes import children
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.values import Own

_MOST = 80  # nodes that one expression is followed through
_SITES = 12  # calls of one helper, and values of one field, that are looked at
_CLOSED = frozenset({cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom, cst.Lambda})


def sources(script: Script, node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Yield the parts of an expression, nearest first, and the parts of what its names may be."""
    todo: list[cst.CSTNode | None] = [node]
    seen: set[int] = set()
    for part in todo:
        if part is None or id(part) in seen:
            continue
        if len(seen) >= _MOST:
            return
        seen.add(id(part))
        yield part
        kind = type(part)  # `isinstance` is slow on these
        if kind is cst.Name:
            todo += _meant(script, part)  # type: ignore[arg-type]
        elif kind is cst.Attribute:
            todo += [b.node for b in script.scopes.members.get(part.attr.value, ())[:_SITES]]  # type: ignore[attr-defined]
            todo.append(part.value)  # type: ignore[attr-defined]
        elif kind is cst.Call:
            for value in script.values.of(part.func):  # type: ignore[attr-defined]
                if isinstance(value, Own):
                    todo += script.scopes.returns.get(id(value.node), ())[:_SITES]
            todo += children(part)
        elif kind not in _CLOSED:
            todo += children(part)
    script.budget.spend(len(seen))


def _meant(script: Script, name: cst.Name) -> Iterator[cst.CSTNode | None]:
    for binding in script.scopes.of(name).find(name.value)[:_SITES]:
        yield binding.node
        holder = binding.scope.node
        if binding.kind == "param" and isinstance(holder, Function):
            for call, own in script.calls.sites.get(id(holder), ())[:_SITES]:
                yield script.calls.arguments(holder, call, own).get(name.value)


def is_of_checkpoint(script: Script, node: cst.CSTNode | None) -> bool:
    """Tell whether an expression is made of what `load_for_eval` is given, or of what the kit says."""
    known = _KNOWN.setdefault(script, {})
    names = script.scopes.of(node).find(node.value) if isinstance(node, cst.Name) else ()
    key = id(names) if names else id(node)  # all bindings of a name, or one expression
    if key not in known:
        known[key] = _is_of_checkpoint(script, node)
    return known[key]


_KNOWN: WeakKeyDictionary[Script, dict[int, bool]] = WeakKeyDictionary()


def _is_of_checkpoint(script: Script, node: cst.CSTNode | None) -> bool:
    loaders = script.scopes.module.names.get("load_for_eval", ())
    given = {id(b.node) for b in loaders if b.kind == "def"}
    if not given and not any(path.startswith("prepare") for _, path in script.imports):
        return False
    for part in sources(script, node):
        if type(part) is cst.Name:
            for binding in script.scopes.of(part).find(part.value):
                if binding.kind == "ref" and binding.path.startswith("prepare"):
                    return True
                if binding.kind == "param" and id(binding.scope.node) in given:
                    return True
    return False
