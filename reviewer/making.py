"""Lets the parser make its nodes without what libcst does for nodes that are made by hand.

libcst's nodes are frozen dataclasses with checks: each field goes through `object.__setattr__`, and each node through
`__post_init__`. For the parser, whose nodes are right, this is a third of all its time. While `quickly` is entered,
nothing is checked, and the classes that make up nine tenths of every script set their fields as any object does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import libcst as cst

_OFTEN: tuple[type[cst.CSTNode], ...] = (
    cst.SimpleWhitespace, cst.Name, cst.Newline, cst.TrailingWhitespace, cst.Attribute, cst.Dot, cst.Arg, cst.Call,
    cst.SimpleStatementLine, cst.Comma, cst.Assign, cst.AssignTarget, cst.Integer, cst.IndentedBlock, cst.AssignEqual,
    cst.BinaryOperation, cst.SubscriptElement, cst.ParenthesizedWhitespace, cst.SimpleString, cst.EmptyLine,
)  # fmt: skip
_FROZEN = tuple({base: None for cls in _OFTEN for base in cls.__mro__ if issubclass(base, cst.CSTNode)})
_GUARDS = ("__setattr__", "__delattr__")


@contextmanager
def quickly() -> Iterator[None]:
    """Make nodes without checks. Not for threads: nodes that others make meanwhile are not checked, either."""
    saved = [(cst.CSTNode, "__post_init__", cst.CSTNode.__dict__["__post_init__"])]
    saved += [(cls, name, cls.__dict__[name]) for cls in _FROZEN for name in _GUARDS if name in cls.__dict__]
    saved += [(cls, "__init__", cls.__dict__["__init__"]) for cls in _OFTEN]
    plain = _plain()
    try:
        cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign,assignment]
        for cls, name, _ in saved[1:]:
            if name == "__init__":
                setattr(cls, name, plain[cls])
            else:
                delattr(cls, name)
        yield
    finally:
        for cls, name, value in saved:
            setattr(cls, name, value)


def _unchecked(node: cst.CSTNode) -> None:
    pass


@cache
def _plain() -> dict[type, Callable[..., None]]:
    """Return for each class the `__init__` that it would have if it were not frozen."""
    return {cls: _like(cls).__dict__["__init__"] for cls in _OFTEN}


def _like(cls: type[cst.CSTNode]) -> type:
    fields = [
        (field.name, Any, dataclasses.field(default=field.default, default_factory=field.default_factory))
        for field in dataclasses.fields(cls)
    ]
    return dataclasses.make_dataclass(cls.__name__, fields, repr=False, eq=False, match_args=False)
