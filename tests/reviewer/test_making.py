"""Nodes that are made quickly are the nodes that libcst makes, and its classes are as they were afterwards."""

import dataclasses

import libcst as cst
import pytest

from reviewer import making
from tests.reviewer.scripts import BASELINE, KNOBS


@pytest.mark.parametrize(
    "text", [BASELINE, KNOBS, "if x :\n\tpass ; y = [1 , 2][ 0 ]  # why\n\n\nz = (\n  a.b(c = 1))\n"]
)
def test_the_same_tree(text: str) -> None:
    plain = cst.parse_module(text)
    with making.quickly():
        quick = cst.parse_module(text)
    assert quick.deep_equals(plain)
    assert quick.code == text


@pytest.mark.parametrize("cls", making._OFTEN)
def test_each_field_that_is_not_given_is_as_libcst_has_it(cls: type[cst.CSTNode]) -> None:
    needed = {
        field.name: cst.Name("x")
        for field in dataclasses.fields(cls)
        if field.default is field.default_factory is dataclasses.MISSING
    }
    with making.quickly():
        quick = cls(**needed)
    made = cls.__new__(cls)
    unchecked = cst.CSTNode.__dict__["__post_init__"]
    cst.CSTNode.__post_init__ = lambda self: None  # type: ignore[method-assign]
    try:
        cls.__init__(made, **needed)
    finally:
        cst.CSTNode.__post_init__ = unchecked  # type: ignore[method-assign]
    assert quick.deep_equals(made)


def test_nodes_are_frozen_and_checked_again_afterwards() -> None:
    before = {(cls, name): cls.__dict__.get(name) for cls in making._FROZEN for name in dir(cls)}
    with pytest.raises(cst.ParserSyntaxError), making.quickly():
        cst.parse_module("x = (")
    assert {(cls, name): cls.__dict__.get(name) for cls in making._FROZEN for name in dir(cls)} == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        cst.Name("x").value = "y"  # type: ignore[misc]
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")
