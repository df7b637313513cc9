"""Pairs the calls, look-ups and members of one plain statement with the compiler's, which knows where they stand.

Both trees hold the same expressions, so those of one kind are the same in source order. Where that order is not the
one of the fields (`a if b else c`), or the compiler's places are not those of the text (inside f-strings, before
Python 3.12), nothing is paired, and the statement is written back instead.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import libcst as cst

from reviewer.nodes import children

_KINDS: dict[type, type[ast.expr]] = {cst.Call: ast.Call, cst.Subscript: ast.Subscript, cst.Attribute: ast.Attribute}
_OUT_OF_ORDER = (ast.IfExp, ast.JoinedStr)


def paired(node: cst.CSTNode, compiled: ast.stmt, wanted: Mapping[int, cst.CSTNode]) -> dict[int, ast.expr] | None:
    """Return the compiler's expression for the id of each wanted node in a statement; None where it cannot be told."""
    kinds = {type(one) for one in wanted.values()}
    if not kinds <= _KINDS.keys():
        return None
    ours: dict[type, list[cst.CSTNode]] = {kind: [] for kind in kinds}
    stack = [node]
    while stack:
        one = stack.pop()
        if type(one) in kinds:
            ours[type(one)].append(one)
        stack.extend([*children(one)][::-1])
    theirs: dict[type, list[Any]] = {_KINDS[kind]: [] for kind in kinds}
    todo: list[Any] = [compiled]
    while todo:
        each = todo.pop()
        what = type(each)
        if what in _OUT_OF_ORDER or (what is ast.Lambda and each.args.posonlyargs):
            return None
        if what in theirs:
            theirs[what].append(each)
        for value in each.__dict__.values():  # `ast.walk` takes twice as long
            if type(value) is list:
                todo += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                todo.append(value)
    found: dict[int, ast.expr] = {}
    for kind in kinds:
        there = sorted(theirs[_KINDS[kind]], key=lambda e: (e.lineno, e.col_offset, -e.end_lineno, -e.end_col_offset))
        if len(there) != len(ours[kind]):
            return None
        found.update((id(one), other) for one, other in zip(ours[kind], there, strict=True) if id(one) in wanted)
    return found
