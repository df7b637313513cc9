"""Every way in which something gets a new attribute, or one of its entries is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.script import Script

_SETTERS = ("builtins.setattr", "builtins.delattr")
_METHODS = frozenset({"__setattr__", "__delattr__"})
_FILLING = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__"})
# Methods by which a list or a dict changes.
CHANGING = _FILLING | {"append", "insert", "extend", "remove", "reverse", "sort", "__iadd__"}


@dataclass(frozen=True)
class Store:
    """At `node`, `name` of `base` becomes `value`. A name or a value that only the run knows is None."""

    node: cst.CSTNode
    base: cst.CSTNode
    name: str | None
    value: cst.BaseExpression | None
    by_key: bool = False  # `base[name] = value`


def stores(script: Script) -> Iterator[Store]:
    """Yield every attribute and entry that is set or deleted. `vars(a)["b"]` and `a.__dict__["b"]` are `a.b`."""
    for target, node, value in _targets(script):
        if type(target) is not cst.Name:
            yield from _stored(script, target, node, value)
    for _, call in script.calling(_SETTERS):
        yield from _set_by(script, call, [a.value for a in call.args if a.keyword is None])
    for method in sorted(_METHODS):
        for name in script.mentions.get(method, ()):
            above = script.tree.parent(name)
            holder = script.tree.parent(above) if isinstance(above, cst.Attribute) else None
            if isinstance(above, cst.Attribute) and isinstance(holder, cst.Call) and holder.func is above:
                args = [a.value for a in holder.args if a.keyword is None]
                whole = 2 if method == "__delattr__" else 3
                yield from _set_by(script, holder, args if len(args) >= whole else [above.value, *args])
    yield from _filled(script)


def _targets(script: Script) -> Iterator[tuple[cst.CSTNode, cst.CSTNode, cst.BaseExpression | None]]:
    tree = script.tree
    for assign in tree.of(cst.Assign):
        for target in assign.targets:
            yield target.target, assign, assign.value
    for annotated in tree.of(cst.AnnAssign):
        if annotated.value is not None:
            yield annotated.target, annotated, annotated.value
    for augmented in tree.of(cst.AugAssign):
        yield augmented.target, augmented, augmented.value
    for deleted in tree.of(cst.Del):
        yield deleted.target, deleted, None
    for loop in tree.both(cst.For, cst.CompFor):
        yield loop.target, loop.target, None
    for item in tree.of(cst.WithItem):
        if item.asname is not None:
            yield item.asname.name, item.asname.name, None


def _stored(
    script: Script, target: cst.CSTNode, node: cst.CSTNode, value: cst.BaseExpression | None
) -> Iterator[Store]:
    kind = type(target)
    if kind is cst.Attribute:
        yield Store(node, target.value, target.attr.value, value)  # type: ignore[attr-defined]
    elif type(target) is cst.Subscript:
        key = target.slice[0].slice if len(target.slice) == 1 else None
        if type(key) is cst.Index:
            owner = _owner(script, target.value)
            yield Store(node, owner or target.value, _text(script, key.value), value, by_key=owner is None)
    elif (kind is cst.Tuple or kind is cst.List) and isinstance(target, cst.Tuple | cst.List):
        parts = value.elements if isinstance(value, cst.Tuple | cst.List) else ()
        for at, element in enumerate(target.elements):
            part = parts[at].value if len(parts) == len(target.elements) else None
            yield from _stored(script, element.value, node, part)


def _owner(script: Script, table: cst.CSTNode) -> cst.CSTNode | None:
    """Return `a` of `vars(a)` and of `a.__dict__`, also where that has a name."""
    seen: set[int] = set()
    while id(table) not in seen:
        seen.add(id(table))
        match table:
            case cst.Attribute(value=base, attr=cst.Name(value="__dict__")):
                return base
            case cst.Call(args=[cst.Arg(value=base)]) if "builtins.vars" in script.path_of(table):
                return base
            case cst.Call(args=[cst.Arg(value=base), cst.Arg(value=named)]) if "builtins.getattr" in script.path_of(
                table
            ):
                return base if script.values.constant(named) == "__dict__" else None
            case cst.Name():
                bindings = script.scopes.of(table).find(table.value)
                if len(bindings) != 1 or bindings[0].kind != "expr" or bindings[0].node is None:
                    return None
                table = bindings[0].node
            case _:
                return None
    return None


def _set_by(script: Script, call: cst.Call, args: list[cst.BaseExpression]) -> Iterator[Store]:
    if len(args) >= 2:
        yield Store(call, args[0], _text(script, args[1]), args[2] if len(args) > 2 else None)


def _filled(script: Script) -> Iterator[Store]:
    """Find `a.__dict__.update(b=c)`, `operator.setitem(vars(a), "b", c)`."""
    for _, call in script.calling(("operator.setitem", "operator.delitem")):
        if len(call.args) >= 2:
            table, key = call.args[0].value, call.args[1].value
            owner = _owner(script, table)
            value = call.args[2].value if len(call.args) > 2 else None
            yield Store(call, owner or table, _text(script, key), value, by_key=owner is None)
    for word in sorted(_FILLING & script.mentions.keys()):
        for name in script.mentions[word]:
            method = script.tree.parent(name)
            call_ = script.tree.parent(method) if isinstance(method, cst.Attribute) and method.attr is name else None
            if not isinstance(method, cst.Attribute) or not isinstance(call_, cst.Call) or call_.func is not method:
                continue
            owner = _owner(script, method.value)
            if owner is None:
                continue
            keyed = [(a.keyword.value, a.value) for a in call_.args if a.keyword is not None]
            for given, value in keyed:
                yield Store(call_, owner, given, value)
            if not keyed:
                yield Store(call_, owner, _text(script, call_.args[0].value) if call_.args else None, None)


def _text(script: Script, node: cst.BaseExpression) -> str | None:
    value = script.values.constant(node)
    return value if value is not UNKNOWN and isinstance(value, str) else None
