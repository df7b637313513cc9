"""A script's tree without what changes nothing: padding, with which somebody else's code looks like one's own.

Left out are `pass`, `assert`, imports, docstrings and other expressions that do nothing, annotations, declarations of
names, names that are set and never read, blocks that never run; `(n := f(x))` is `f(x)`, `x * 1` is `x`, `if True:` is
its block, and what is made of constants alone is one constant. Nothing here is recursive: a chain of ten thousand
`elif` is legal.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

_IDLE = (ast.Pass, ast.Assert, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_DOING = frozenset({ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr})
_COUNTING = frozenset({ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.JoinedStr, ast.FormattedValue})
_BASES = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
_SIGNS = frozenset(kind for base in _BASES for kind in base.__subclasses__())
# Not nodes, or of no weight: names, texts, what an annotation says.
_WORDS = frozenset([
    "annotation", "returns", "type_params", "id", "name", "attr", "arg", "kind", "type_comment", "lineno", "module",
    "level", "asname", "simple", "conversion", "kwd_attrs", "is_async", "rest", "names", "type_ignores",
])  # fmt: skip
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
_RISING = frozenset({ast.NamedExpr, ast.BinOp, ast.IfExp})
_NEUTRAL: dict[type[ast.operator], int] = {
    ast.Mult: 1, ast.Div: 1, ast.FloorDiv: 1, ast.Pow: 1, ast.Add: 0, ast.Sub: 0, ast.LShift: 0, ast.RShift: 0,
    ast.BitOr: 0, ast.BitXor: 0,
}  # fmt: skip


def fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields of a class of nodes that hold nodes, without annotations."""
    known = _FIELDS.get(kind)
    if known is None:
        words = _WORDS | {"value"} if kind is ast.Constant else _WORDS
        known = _FIELDS[kind] = tuple(name for name in kind._fields if name not in words)
    return known


class Unpadded:
    """What is left of one tree; asked node by node, from the top."""

    def __init__(self, tree: ast.AST) -> None:
        self._constant: set[int] = set()
        self._doing: set[int] = set()
        self._read: set[str] = set()
        every: list[tuple[ast.AST, list[ast.AST]]] = []
        todo = [tree]
        while todo:
            node = todo.pop()
            below: list[ast.AST] = []
            for name in fields_of(type(node)):
                value: Any = getattr(node, name, None)
                if type(value) is list:
                    below += [each for each in value if isinstance(each, ast.AST) and type(each) not in _SIGNS]
                elif isinstance(value, ast.AST) and type(value) not in _SIGNS:
                    below.append(value)
            every.append((node, below))
            todo += below
        for node, below in reversed(every):  # what is below comes first
            self._note(node, type(node), below)

    def _note(self, node: ast.AST, kind: type[ast.AST], below: list[ast.AST]) -> None:
        if kind is ast.Constant:
            self._constant.add(id(node))
        elif kind is ast.Name:
            if type(node.ctx) is not ast.Store:  # type: ignore[attr-defined]
                self._read.add(node.id)  # type: ignore[attr-defined]
        elif kind in _DOING or (below and not self._doing.isdisjoint(map(id, below))):
            self._doing.add(id(node))
        elif kind in _COUNTING and self._constant.issuperset(map(id, below)):
            self._constant.add(id(node))

    def statements(self, body: Sequence[ast.AST]) -> list[ast.AST]:
        """Return the statements of a block that do something."""
        found: list[ast.AST] = []
        todo = list(reversed(body))
        while todo:
            statement = todo.pop()
            if isinstance(statement, ast.If | ast.While) and id(statement.test) in self._constant:
                known = _truth(statement.test)
                if known is False:
                    todo.extend(reversed(statement.orelse))
                    continue
                if known is True and isinstance(statement, ast.If):
                    todo.extend(reversed(statement.body))
                    continue
            if not self._is_idle(statement):
                found.append(statement)
        return found

    def _is_idle(self, statement: ast.AST) -> bool:
        if isinstance(statement, _IDLE):
            return True
        if isinstance(statement, ast.Expr):
            return id(statement.value) not in self._doing
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return True
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            unread = all(isinstance(t, ast.Name) and t.id not in self._read for t in targets)
            return unread and id(statement.value) in self._constant
        return False

    def expression(self, node: ast.AST) -> ast.AST:
        """Return what an expression comes to."""
        while type(node) in _RISING:
            if isinstance(node, ast.NamedExpr):
                node = node.value
            elif isinstance(node, ast.BinOp) and (kept := self._beside_nothing(node)) is not None:
                node = kept
            elif isinstance(node, ast.IfExp) and (known := _truth(node.test)) is not None:
                node = node.body if known else node.orelse
            else:
                break
        return _CONSTANT if id(node) in self._constant else node

    def _beside_nothing(self, node: ast.BinOp) -> ast.AST | None:
        nothing = _NEUTRAL.get(type(node.op))
        if nothing is None or id(node) in self._constant:
            return None
        if _is(node.right, nothing):
            return node.left
        return node.right if isinstance(node.op, ast.Mult | ast.Add) and _is(node.left, nothing) else None


_CONSTANT = ast.Constant(0)


def _truth(test: ast.AST) -> bool | None:
    return bool(test.value) if isinstance(test, ast.Constant) else None


def _is(node: ast.AST, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == number
