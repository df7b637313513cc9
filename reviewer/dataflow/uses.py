"""Where something from outside the file is put to use: called, used as a decorator, handed on, or taken out of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

import libcst as cst

from reviewer.script import Script

_GETTING = ("builtins.getattr", "inspect.getattr_static", "operator.attrgetter")

N = TypeVar("N", bound=cst.CSTNode)


def used(script: Script, paths: Collection[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield the uses of these functions with their paths, each place once: calls, decorators, and being handed on."""
    yield from once(_used(script, paths))


def _used(script: Script, paths: Collection[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    yield from script.calling(paths)
    yield from script.handing_on(paths)
    for mark in script.tree.of(cst.Decorator):
        yield from ((path, mark.decorator) for path in script.values.paths(mark.decorator) if path in paths)


def once(found: Iterator[tuple[str, N]]) -> Iterator[tuple[str, N]]:
    """Leave out what stands at a place that came before."""
    seen: set[int] = set()
    for path, node in found:
        if id(node) not in seen:
            seen.add(id(node))
            yield path, node


def taken(script: Script, names: Collection[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield where an attribute of one of these names is taken from anything: by a dot, `getattr`, or a pattern."""
    mentions, above_of = script.mentions, script.tree.parent
    for name in sorted(mentions.keys() & names):
        for node in mentions[name]:
            above = above_of(node)
            if isinstance(above, cst.Attribute) and above.attr is node:
                yield name, above
            elif isinstance(above, cst.MatchKeywordElement) and above.key is node:
                yield name, node
    for path, call in script.calling(_GETTING):
        for arg in call.args if path == "operator.attrgetter" else call.args[1:2]:
            yield from ((name, call) for name in _asked(script, arg) if name in names)
    for node in mentions.get("__getattribute__", ()):
        attribute = above_of(node)
        reading = above_of(attribute) if isinstance(attribute, cst.Attribute) else None
        if isinstance(reading, cst.Call) and reading.func is attribute and reading.args:
            yield from ((name, reading) for name in _asked(script, reading.args[-1]) if name in names)


def _asked(script: Script, arg: cst.Arg) -> list[str]:
    """Return the names that are asked for: `a.b` asks for two."""
    value = script.values.constant(arg.value)
    return value.split(".") if isinstance(value, str) else []
