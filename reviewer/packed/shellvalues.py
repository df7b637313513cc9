"""What a shell's expressions can be worth, and what of it can be written down."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_HANDED = 20_000  # characters of one value, all its parts together; rules look into no longer ones
_MOST_HANDED_IN_ALL = 10 * _MOST_HANDED
_DEEP = 16


class NoShell(Exception):
    """The text says something that the language has no word for."""


@dataclass(frozen=True)
class Ref:
    """A module or a function from outside, by its dotted path."""

    path: str


@dataclass(frozen=True)
class Helper:
    """A function of the shell that returns one expression."""

    params: tuple[str, ...]
    body: ast.expr


@dataclass(frozen=True)
class Code:
    """What `compile` gives."""

    source: str | bytes


@dataclass(frozen=True)
class Unpacked:
    """The text that a shell executes, as bytes, and what the shell's own names mean in it.

    `names` are those whose value can be written down. `others` (helpers, long payloads, open streams) mean inside what
    the shell's own statements make of them.
    """

    data: bytes
    names: dict[str, Any] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


def handed(names: dict[str, Any]) -> dict[str, Any]:
    """Return those of a shell's names whose value can be written down, not too much of it."""
    plain, left = {}, _MOST_HANDED_IN_ALL
    for name, value in names.items():
        size = 0 if isinstance(value, Ref) else _size(value)
        if 0 <= size <= left:
            plain[name] = value
            left -= size
    return plain


def _size(value: Any, left: int = _MOST_HANDED, depth: int = 0) -> int:
    """Return how long a value would be in a text, or -1 where it is too long, too deep, or no value at all."""
    if isinstance(value, str | bytes | int | None):
        size = len(value) if isinstance(value, str | bytes) else 20
        return size if size <= left else -1
    if not isinstance(value, list | dict) or depth > _DEEP:
        return -1
    total = 2
    for part in value if isinstance(value, list) else (*value.keys(), *value.values()):
        size = _size(part, left - total, depth + 1)
        if size < 0 or total + size + 2 > left:
            return -1
        total += size + 2
    return total


def is_own_space(node: ast.expr) -> bool:
    """Tell whether this is the module's own names, written where they are asked: a helper has others."""
    match node:
        case ast.Call(func=ast.Name(id="globals" | "locals"), args=[], keywords=[]):
            return True
    return False


def compiled(args: Sequence[Any], keywords: dict[str, Any]) -> Code:
    """Return the source that is compiled; flags would make another program of it."""
    given = {**dict(zip(("source", "filename", "mode"), args, strict=False)), **keywords}
    if len(args) > 3 or set(given) - {"source", "filename", "mode", "dont_inherit"} or given.get("mode") != "exec":
        raise NoShell
    if not isinstance(given.get("source"), str | bytes):
        raise NoShell
    return Code(given["source"])
