"""Follows a read of the environment to where its key is known: here, or at the calls of the helper it stands in.

A helper is followed once for each parameter that decides about the key, not once for each read or call, so that forty
functions that call each other cost forty times forty steps and no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import libcst as cst

from reviewer.fold import UNKNOWN, names_in
from reviewer.scope import Function, parameters
from reviewer.script import Script
from reviewer.values import Own

_HOPS = 12
_HANDED_ON = (cst.Element, cst.StarredElement, cst.DictElement, cst.Yield, cst.Decorator, cst.FormattedStringExpression)

State = tuple[int, str | int, str | int]


@dataclass(frozen=True)
class Read:
    """One use: `node` is where it is reported, `given` are parameters with known values."""

    node: cst.CSTNode
    kind: Literal["key", "whole", "write"]
    key: cst.CSTNode | None = None
    default: cst.CSTNode | None = None
    given: dict[str, Any] = field(default_factory=dict)


class Keys:
    """Resolves the keys of the reads of one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._said: dict[State, bool] = {}  # helpers that have been followed, and whether anything was said of them
        self._handed_on: dict[int, bool] = {}

    def of(self, read: Read) -> list[Read]:
        """Return a read where its key is known, or the read itself where no call decides about it."""
        found = list(self._follow(read, 0))
        helper = self._open_helper(read)
        said = helper is not None and self._said.get(_state(helper, read), False)
        return found if found or said else [read]

    def _follow(self, read: Read, hops: int) -> Iterator[Read]:
        helper = self._open_helper(read)
        sites = self._script.calls.sites.get(id(helper), []) if helper is not None else []
        if helper is None or not sites or hops > _HOPS:
            yield read
            return
        if self._is_handed_on(helper):
            yield read
        state = _state(helper, read)
        if state in self._said:
            return
        self._said[state] = False
        for call, own in sites:
            self._script.budget.spend()
            for one in self._at_call(helper, read, call, own, hops):
                self._said[state] = True
                yield one

    def _open_helper(self, read: Read) -> Function | None:
        """Return the function around a read whose parameter decides about the key, unless the key is known."""
        if read.key is None or self._script.values.constant(read.key, read.given) is not UNKNOWN:
            return None
        names = names_in(read.key)
        function = self._script.scopes.function_of(read.node)
        while function is not None:
            if any(p.name.value in names for p in parameters(function)):
                return function
            function = self._script.scopes.function_of(function)
        return None

    def _at_call(self, helper: Function, read: Read, call: cst.Call, own: Own, hops: int) -> Iterator[Read]:
        args = self._script.calls.arguments(helper, call, own)
        key, default = read.key, read.default
        default = args.get(default.value, default) if isinstance(default, cst.Name) else default
        if isinstance(key, cst.Name) and key.value in args:
            yield from self._follow(Read(call, "key", args[key.value], default), hops + 1)
            return
        given = {name: self._script.values.constant(value) for name, value in args.items()}
        yield Read(call, "key", key, default, {k: v for k, v in given.items() if v is not UNKNOWN})

    def _is_handed_on(self, helper: Function) -> bool:
        """Tell whether a helper is also handed on as a value, so that some of its calls cannot be seen."""
        known = self._handed_on.get(id(helper))
        if known is None:
            names = self._names.get(id(helper), set())
            known = any(self._is_value(node) for name in names for node in self._script.mentions.get(name, ()))
            self._handed_on[id(helper)] = known
        return known

    def _is_value(self, node: cst.CSTNode) -> bool:
        parent = self._script.tree.parent(node)
        if isinstance(parent, cst.Attribute) and parent.attr is node:
            node, parent = parent, self._script.tree.parent(parent)
        if isinstance(parent, cst.Arg) and parent.keyword is not node:
            call = self._script.tree.parent(parent)
            return not (isinstance(call, cst.Call) and "functools.partial" in self._script.path_of(call))
        return isinstance(parent, _HANDED_ON)

    @cached_property
    def _names(self) -> dict[int, set[str]]:
        """The names under which each function is known."""
        found: dict[int, set[str]] = defaultdict(set)
        for name, bindings in self._script.scopes.everything():
            for value in self._script.values.bound(bindings):
                if isinstance(value, Own):
                    found[id(value.node)].add(name)
        return found


def _state(helper: Function, read: Read) -> State:
    """Reads of one helper that take key and default from the same parameters have the same answers."""
    default: str | int = read.default.value if isinstance(read.default, cst.Name) else id(read.default)
    return id(helper), read.key.value if isinstance(read.key, cst.Name) else id(read.key), default
