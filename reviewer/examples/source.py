"""Reads the examples of a rule from its source, without importing the rule and the parser with it.

Examples are tuples of texts. They may be put together of other constants of the file, and of files of examples beside
it, by the few operations that people use for that (`examplevalues.py`). One that is made in any other way is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from reviewer.examples.values import Source, Unknown, worth

MARK = "# !"  # ends each line of an example that the rule must find; a severity that is not the rule's own follows it
_MARKED = re.compile(r"(.*?)[ \t]*# !(?: (review|warn|info))?[ \t]*")
_MOST_LINES, _WIDEST = 24, 100


def examples_of(path: Path, made: ast.ClassDef, name: str) -> tuple[str, ...]:
    """Return the texts in the attribute `name` (VALID, INVALID) of a rule's class, in their order."""
    for statement in made.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                return tuple(_texts(Source(path), value))
            case ast.AnnAssign(target=ast.Name(id=given), value=ast.expr() as value) if given == name:
                return tuple(_texts(Source(path), value))
    return ()


def marked(line: str) -> tuple[str, str] | None:
    """Return a marked line without its mark, with the severity that the mark names, "" for the rule's own."""
    found = _MARKED.fullmatch(line)
    return None if found is None else (found[1], found[2] or "")


def readable(texts: Iterable[str], most: int = 3) -> list[str]:
    """Return the first few examples that a person takes in at a glance; one at least, if there is any."""
    every = list(texts)
    short = [t for t in every if t.count("\n") <= _MOST_LINES and max(map(len, t.split("\n"))) <= _WIDEST]
    return (short or sorted(every, key=len))[: most if short else 1]


def _texts(source: Source, node: ast.expr, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a tuple, element by element, so that one that is not read costs no other."""
    match node:
        case _ if depth > 12:
            return
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
            where, value = source.meant(name)
            if isinstance(value, ast.expr):
                yield from _texts(where, value, depth + 1)


def _text(source: Source, node: ast.expr) -> Iterator[str]:
    try:
        value = worth(source, node)
    except (Unknown, ArithmeticError, AttributeError, LookupError, OSError, SyntaxError, TypeError, ValueError):
        return
    if isinstance(value, str):
        yield value
