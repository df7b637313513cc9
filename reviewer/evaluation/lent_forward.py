"""Layers whose `forward` is not written as a method, so that what it does is not compared."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script

_ENTERED = frozenset({"forward", "__call__"})


def lent_forwards(script: Script) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Yield each assignment in the body of a layer that gives it its `forward`, with both names."""
    for cls in script.tree.of(cst.ClassDef):
        for line in cls.body.body:
            for one in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                for name in _set(one) & _ENTERED:
                    if script.modelled.is_layer(cls):
                        yield one, name, cls.name.value


def _set(statement: cst.CSTNode) -> set[str]:
    match statement:
        case cst.Assign(targets=targets):
            return {t.target.value for t in targets if isinstance(t.target, cst.Name)}
        case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression()):
            return {name}
    return set()
