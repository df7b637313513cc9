"""Folds constant expressions: `"env" + "iron"`, f-strings, joins, reversals, arithmetic on literals.

Nothing is executed: each operation that is understood is written out here, on bounded values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import libcst as cst

from reviewer.nodes import children

UNKNOWN: Final = object()
_MAX_TEXT = 20_000

Lookup = Callable[[cst.Name], Any]

_METHODS = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "replace", "join", "decode", "encode", "format"})
_TYPES: dict[str, Callable[..., Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "chr": chr,
    "bytes": bytes,
}
_FIELD = re.compile(r"\{\d*\}")
_ENCODINGS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1"})  # others can be slow
_NAMED = {"True": True, "False": False, "None": None}


def fold(node: cst.CSTNode | None, lookup: Lookup = lambda name: UNKNOWN) -> Any:
    """Return the value of a constant expression, or UNKNOWN. `lookup` says what a name stands for."""
    if node is None:
        return UNKNOWN
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    try:
        value = handler(node, lookup)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        return UNKNOWN
    too_long = isinstance(value, str | bytes | list) and len(value) > _MAX_TEXT
    too_big = isinstance(value, int) and value.bit_length() > 256
    return UNKNOWN if too_long or too_big else value


def _all(nodes: Any, lookup: Lookup) -> list[Any]:
    values = [fold(n, lookup) for n in nodes]
    if any(v is UNKNOWN for v in values):
        raise ValueError("not constant")
    return values


def _name(node: cst.Name, lookup: Lookup) -> Any:
    return _NAMED[node.value] if node.value in _NAMED else lookup(node)


def _whole(node: cst.Integer, _: Lookup) -> Any:
    return int(node.value, 0)  # `evaluated_value` asks the compiler each time, and leaves cycles for the collector


def _real(node: cst.Float, _: Lookup) -> Any:
    return float(node.value)


def _string(node: cst.SimpleString, _: Lookup) -> Any:
    value = node.value
    plain = value[0] in "'\"" and "\\" not in value and not value.startswith(("'''", '"""'))
    return value[1:-1] if plain else node.evaluated_value  # the latter asks the compiler each time


def _joined(node: cst.ConcatenatedString, lookup: Lookup) -> Any:
    left, right = _all((node.left, node.right), lookup)
    return left + right


def _formatted(node: cst.FormattedString, lookup: Lookup) -> Any:
    out = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            out.append(part.value)
        elif isinstance(part, cst.FormattedStringExpression):
            if part.format_spec or part.conversion:
                return UNKNOWN
            out.append(str(_plain(_all((part.expression,), lookup)[0])))
        if sum(map(len, out)) > _MAX_TEXT:
            return UNKNOWN
    return "".join(out)


def _plain(value: Any) -> Any:
    """Refuse lists: written out, one that holds itself forty times over has no end."""
    if isinstance(value, list):
        raise TypeError
    return value


def _sequence(node: cst.List | cst.Tuple, lookup: Lookup) -> Any:
    values: list[Any] = []
    for element in node.elements:
        (value,) = _all((element.value,), lookup)
        values += value if isinstance(element, cst.StarredElement) else [value]
        if len(values) > _MAX_TEXT:
            return UNKNOWN
    return values


def _binary(node: cst.BinaryOperation, lookup: Lookup) -> Any:
    left, right = _all((node.left, node.right), lookup)
    match node.operator:
        case cst.Add():
            return left + right
        case cst.Subtract():
            return left - right
        case cst.Multiply() if all(isinstance(x, int | float) for x in (left, right)):
            return left * right
        case cst.Divide():
            return left / right
        case cst.FloorDivide():
            return left // right
        case cst.Power() if abs(right) <= 64:
            return left**right
    return UNKNOWN


def _unary(node: cst.UnaryOperation, lookup: Lookup) -> Any:
    (value,) = _all((node.expression,), lookup)
    if isinstance(node.operator, cst.Minus):
        return -value
    return (not value) if isinstance(node.operator, cst.Not) else UNKNOWN


def _subscript(node: cst.Subscript, lookup: Lookup) -> Any:
    (base,) = _all((node.value,), lookup)
    if len(node.slice) != 1:
        return UNKNOWN
    part = node.slice[0].slice
    if isinstance(part, cst.Index):
        return base[_all((part.value,), lookup)[0]]
    if isinstance(part, cst.Slice):
        ends = [None if x is None else _all((x,), lookup)[0] for x in (part.lower, part.upper, part.step)]
        return base[slice(*ends)]
    return UNKNOWN


def _call(node: cst.Call, lookup: Lookup) -> Any:
    if any(a.keyword or a.star for a in node.args):
        return UNKNOWN
    args = _all([a.value for a in node.args], lookup)
    if isinstance(node.func, cst.Name) and node.func.value in _TYPES and lookup(node.func) is UNKNOWN:
        if node.func.value == "bytes":
            return bytes(args[0]) if isinstance(args[0], list) else UNKNOWN
        return _TYPES[node.func.value](_plain(args[0]))
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS:
        (base,) = _all((node.func.value,), lookup)
        if isinstance(base, str | bytes):
            return _method(base, node.func.attr.value, args)
    return UNKNOWN


def _method(base: Any, name: str, args: list[Any]) -> Any:
    """Call a method of a string, unless its result could be long or is not just a function of these values."""
    match name:
        case "format":
            fields = _FIELD.findall(base)
            longest = max((len(str(_plain(a))) for a in args), default=0)
            if base.count("{") != len(fields) or len(base) + len(fields) * longest > _MAX_TEXT:
                return UNKNOWN
        case "join":
            if sum(map(len, args[0])) + len(base) * len(args[0]) > _MAX_TEXT:
                return UNKNOWN
        case "replace":
            if len(base) + base.count(args[0]) * len(args[1]) > _MAX_TEXT:
                return UNKNOWN
        case "encode" | "decode":
            if args and str(args[0]).lower() not in _ENCODINGS:
                return UNKNOWN
    return getattr(base, name)(*args)


_HANDLERS: dict[type, Callable[[Any, Lookup], Any]] = {
    cst.Name: _name,
    cst.Integer: _whole,
    cst.Float: _real,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _joined,
    cst.FormattedString: _formatted,
    cst.List: _sequence,
    cst.Tuple: _sequence,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Subscript: _subscript,
    cst.Call: _call,
}


def names_in(node: cst.CSTNode) -> set[str]:
    """Return every name that stands in an expression."""
    found, stack = set(), [node]
    while stack:
        part = stack.pop()
        if isinstance(part, cst.Name):
            found.add(part.value)
        stack.extend(children(part))
    return found
