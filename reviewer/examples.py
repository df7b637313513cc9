"""Reads the examples of a rule from its source, without importing the rule and the parser with it.

Examples are tuples of texts. They may be put together of other constants of the file, and of files of examples beside
it, by the few operations that people use for that. An example that is made in any other way is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARK = "# !"  # ends each line of an example that the rule must find
_PACKAGE = "reviewer.rules."
_MOST_LINES, _WIDEST = 24, 100
_METHODS = frozenset({"replace", "strip", "lstrip", "rstrip", "format", "join", "removeprefix", "removesuffix"})
_DEEPEST = 12


class _Unknown(Exception):
    """The source says it in a way that is not read here."""


@dataclass
class _Source:
    """One file of rules or examples: its constants, and which names come from other such files."""

    path: Path
    constants: dict[str, ast.expr] = field(default_factory=dict)
    brought: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in ast.parse(self.path.read_text(encoding="utf-8")).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.constants[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.constants[name] = value
                case ast.ImportFrom(module=str(module), names=names) if module.startswith(_PACKAGE):
                    for alias in names:
                        self.brought[alias.asname or alias.name] = module.removeprefix(_PACKAGE), alias.name


def examples_of(path: Path, made: ast.ClassDef, name: str) -> tuple[str, ...]:
    """Return the texts in the attribute `name` (VALID, INVALID) of a rule's class, in their order."""
    for statement in made.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                return tuple(_texts(_Source(path), value))
            case ast.AnnAssign(target=ast.Name(id=given), value=ast.expr() as value) if given == name:
                return tuple(_texts(_Source(path), value))
    return ()


def readable(texts: Iterable[str], most: int = 3) -> list[str]:
    """Return the first few examples that a person takes in at a glance; one at least, if there is any."""
    every = list(texts)
    short = [t for t in every if t.count("\n") <= _MOST_LINES and max(map(len, t.split("\n"))) <= _WIDEST]
    return (short or sorted(every, key=len))[: most if short else 1]


def _texts(source: _Source, node: ast.expr, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a tuple, element by element, so that one that is not read costs no other."""
    if depth > _DEEPEST:
        return
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                if isinstance(part, ast.Starred):
                    yield from _texts(source, part.value, depth + 1)
                else:
                    yield from _text(source, part)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _texts(source, left, depth + 1)
            yield from _texts(source, right, depth + 1)
        case ast.Name(id=name):
            where, value = _meant(source, name)
            if value is not None:
                yield from _texts(where, value, depth + 1)


def _text(source: _Source, node: ast.expr) -> Iterator[str]:
    try:
        value = _value(source, node)
    except (_Unknown, TypeError, ValueError, KeyError, IndexError, OSError, SyntaxError):
        return
    if isinstance(value, str):
        yield value


def _meant(source: _Source, name: str) -> tuple[_Source, ast.expr | None]:
    if name in source.brought:
        module, name = source.brought[name]
        source = _Source(source.path.with_name(f"{module}.py"))
    return source, source.constants.get(name)


def _value(source: _Source, node: ast.expr, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise _Unknown

    def of(part: ast.expr) -> Any:
        return _value(source, part, depth + 1)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            where, meant = _meant(source, name)
            if meant is None:
                raise _Unknown
            return _value(where, meant, depth + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return of(left) + of(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return of(left) * of(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [of(part) for part in parts]
        case ast.JoinedStr(values=parts):
            return "".join(str(of(part)) for part in parts)
        case ast.FormattedValue(value=value, conversion=conversion, format_spec=None):
            return repr(of(value)) if conversion == ord("r") else of(value)
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=args, keywords=[]) if name in _METHODS:
            text = of(base)
            if isinstance(text, str):
                return getattr(text, name)(*map(of, args))
    raise _Unknown
