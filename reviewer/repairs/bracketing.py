"""When an expression needs parentheses in the place of another one."""

from __future__ import annotations

import libcst as cst

from reviewer.script import Script

_ATOMS = (
    cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.Call, cst.Attribute, cst.Subscript, cst.List, cst.Dict,
    cst.Set, cst.ListComp, cst.DictComp, cst.SetComp, cst.FormattedString,
)  # fmt: skip
_LOOSE = (cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield)  # these need them nearly everywhere
_OPEN = (
    cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Expr, cst.Index, cst.Element, cst.DictElement, cst.Param,
    cst.If, cst.While, cst.Lambda, cst.Assert, cst.For, cst.WithItem,
)  # fmt: skip


def bracketed(script: Script, place: cst.BaseExpression, new: cst.BaseExpression) -> str:
    """Return the source of an expression as it has to stand in a place."""
    source = script.layout.source(new)
    if isinstance(new, _ATOMS) or new.lpar:
        number = isinstance(new, cst.Integer | cst.Float) and isinstance(script.tree.parent(place), cst.Attribute)
        return f"({source})" if number and not new.lpar else source
    above = script.tree.parent(place)
    plain = isinstance(above, _OPEN) or (isinstance(above, cst.Arg) and not above.star)
    return source if plain and not isinstance(new, _LOOSE) and "\n" not in source else f"({source})"


def in_brackets(script: Script, place: cst.BaseExpression, text: str) -> str:
    """Return a literal as it has to stand in a place: `(-1) ** 2`, `(5).bit_length()`."""
    above = script.tree.parent(place)
    bare = text[:1].isdigit() or text[:1] == "-"
    tight = isinstance(above, cst.Attribute | cst.Await | cst.Subscript | cst.Call) or (
        text[:1] == "-" and isinstance(above, cst.BinaryOperation | cst.UnaryOperation)
    )
    return f"({text})" if bare and tight else text
