"""Blocks that certainly raise or end the program, and names whose test does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from reviewer.fold import names_in
from reviewer.script import Script
from reviewer.values import Own

_ENDS = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})


def ends(script: Script, body: cst.BaseSuite | cst.CSTNode) -> bool:
    """Tell whether a block certainly raises or ends the program."""
    for statement in statements(body):
        if isinstance(statement, cst.Raise):
            return True
        if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
            for value in script.values.of(statement.value.func):
                if isinstance(value, Own):
                    if isinstance(value.node, cst.FunctionDef) and _raises_at_once(value.node):
                        return True
                elif value.path in _ENDS:
                    return True
        if isinstance(statement, cst.If) and isinstance(statement.orelse, cst.Else):
            arms = (statement.body, statement.orelse.body)
            if all(ends(script, arm) for arm in arms):
                return True
    return False


def _raises_at_once(function: cst.FunctionDef) -> bool:
    return any(isinstance(s, cst.Raise) for s in statements(function.body))


def statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the statements of a block, small ones one by one."""
    inner: Sequence[cst.CSTNode] = body.body if isinstance(body, cst.IndentedBlock | cst.SimpleStatementSuite) else ()
    for statement in inner:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        else:
            yield statement


class Tested:
    """Tells whether a test of one of some names raises; the tests of a file are collected once, when first needed."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._names: set[str] | None = None

    def __call__(self, names: set[str]) -> bool:
        if self._names is None:
            tests = [check.test for check in self._script.tree.of(cst.Assert)]
            tests += [branch.test for branch in self._script.tree.of(cst.If) if ends(self._script, branch.body)]
            self._names = {name for test in tests for name in names_in(test)}
        return bool(names & self._names)
