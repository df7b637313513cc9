"""Padding hides nobody's code: what does nothing is not seen by a fingerprint."""

import ast
from collections.abc import Callable

import pytest

from reviewer.similarity import fingerprint_of, same_code, share
from tests.bench.bench_audit import script
from tests.reviewer.scripts import BASELINE

OTHER = script(layers=3, knobs=0)


class Padded(ast.NodeTransformer):
    """Puts something before each statement of a function, or around each constant."""

    def __init__(self, before: str = "", around: Callable[[ast.expr], ast.expr] | None = None) -> None:
        self.before, self.around = ast.parse(before).body, around

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = [each for statement in node.body for each in (*self.before, statement)]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self.around is not None:
            node.value = self.around(node.value)
        return node


def padded(before: str = "", around: Callable[[ast.expr], ast.expr] | None = None) -> ast.Module:
    tree = Padded(before, around).visit(ast.parse(OTHER))
    return ast.parse(ast.unparse(ast.fix_missing_locations(tree)))


@pytest.mark.parametrize(
    "before",
    [
        "pass",
        "assert 1 < 2",
        "'a word'",
        "3 + 4 * 5",
        "(1, 2, 3)",
        "unused: int",
        "unused: int = 3",
        "unused = 3 * 4",
        "import os",
        "from math import pi as unused",
        "if False:\n    print(1)\n    print(2)",
        "while 0:\n    print(1)",
        "if True:\n    pass\nelse:\n    print(1)",
        "pass\nassert 1\n'a'\nunused = 0\nimport os",
    ],
)
def test_statements_that_do_nothing_are_not_seen(before: str) -> None:
    assert same_code(padded(before), ast.parse(OTHER))


def _called(name: str, value: ast.expr) -> ast.expr:
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


@pytest.mark.parametrize(
    "around",
    [
        lambda value: _called("unused", value),
        lambda value: ast.BinOp(value, ast.Mult(), ast.Constant(1)),
        lambda value: ast.BinOp(ast.Constant(0), ast.Add(), value),
        lambda value: ast.IfExp(ast.Constant(True), value, ast.Constant(None)),
    ],
)
def test_expressions_that_add_nothing_are_not_seen(around: Callable[[ast.expr], ast.expr]) -> None:
    assert share(fingerprint_of(padded(around=around)).marks, fingerprint_of(ast.parse(OTHER)).marks) > 0.9


def test_annotations_and_sums_of_constants_are_not_seen() -> None:
    plain = "def f(a, b):\n    c = 6\n    d = a + b\n    return g(c, d)\n"
    other = "def f(a: int, b: str) -> list[int]:\n    c: int = 2 * (1 + 2)\n    d: X[int] = a + b\n    return g(c, d)\n"
    assert same_code(ast.parse(plain), ast.parse(other))


def test_what_does_something_is_seen() -> None:
    for one, other in (
        ("f(x)", "x"),
        ("x = f(3)", "f(3)"),
        ("if x:\n    f()", "f()"),
        ("print(x * 2)", "print(x)"),
        ("x = 3\nprint(x)", "print(x)"),
    ):
        assert not same_code(ast.parse(one), ast.parse(other)), (one, other)


def test_two_scripts_do_not_grow_alike_by_it() -> None:
    mine, theirs = fingerprint_of(ast.parse(OTHER)), fingerprint_of(ast.parse(BASELINE))
    assert share(mine.marks, theirs.marks) < 0.5


def test_a_long_chain_is_read_without_recursion() -> None:
    chain = "if x == 0:\n    f()\n" + "".join(f"elif x == {i}:\n    f({i})\n" for i in range(60))
    assert fingerprint_of(ast.parse(chain)).marks
