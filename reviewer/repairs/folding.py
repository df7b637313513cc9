"""Exact values of expressions, for repairs: what Python itself would make of them, with their types, or nothing.

The audit's own folding (`fold.py`) wants every meaning that a text may have; a repair wants the one that it certainly
has. Nothing is executed here: the few operations that are understood are written out, on bounded values, and whatever
is not understood ends in Unsure. A helper of the script is followed statement by statement (`helping.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from reviewer.budget import Budget
from reviewer.fold import UNKNOWN, fold

_WHOLE = re.compile(r"0[xXoObB][0-9a-fA-F_]+|[0-9][0-9_]*")
_REAL = re.compile(r"(?=.*[.eE])[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9_]+)?")
_MOST = 4_000  # characters or elements of one value
_PLAIN = (str, int, float, bool, type(None))
_TYPES: dict[str, Any] = {
    "int": int, "float": float, "str": str, "bool": bool, "tuple": tuple, "list": list, "set": set,
    "frozenset": frozenset, "len": len, "abs": abs, "min": min, "max": max, "sorted": sorted, "type": type,
    "isinstance": isinstance, "sum": sum, "round": round, "any": any, "all": all,
}  # fmt: skip
_METHODS = frozenset([
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "rsplit", "startswith", "endswith", "replace",
    "removeprefix", "removesuffix", "casefold", "title", "isdigit", "count", "partition", "join",
])  # fmt: skip
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    cst.Equal: lambda a, b: a == b,
    cst.NotEqual: lambda a, b: a != b,
    cst.LessThan: lambda a, b: a < b,
    cst.LessThanEqual: lambda a, b: a <= b,
    cst.GreaterThan: lambda a, b: a > b,
    cst.GreaterThanEqual: lambda a, b: a >= b,
    cst.In: lambda a, b: a in b,
    cst.NotIn: lambda a, b: a not in b,
}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    cst.Add: lambda a, b: a + b,
    cst.Subtract: lambda a, b: a - b,
    cst.Multiply: lambda a, b: a * b,
    cst.Divide: lambda a, b: a / b,
    cst.FloorDivide: lambda a, b: a // b,
    cst.Modulo: lambda a, b: a % b,
    cst.Power: lambda a, b: a**b,
}


class Unsure(Exception):
    """What this is cannot be said with certainty."""


class Folding:
    """Folds the expressions of one script. `given` answers for nodes that it knows, `named` for names."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def given(self, node: cst.CSTNode, names: Mapping[str, Any]) -> Any:
        """Return the value of a node that is more than its parts. Raises Unsure."""
        raise Unsure

    def named(self, node: cst.Name) -> Any:
        """Return the value of a name that is not local. Raises Unsure."""
        raise Unsure

    def value(self, node: cst.CSTNode | None, names: Mapping[str, Any]) -> Any:
        """Return what an expression is, with `names` bound. Raises Unsure."""
        self._budget.spend()
        handler = _HANDLERS.get(type(node))
        try:
            return _bounded(self.given(node, names)) if node is not None else None
        except Unsure:
            if handler is None:
                raise
        try:
            return _bounded(handler(self, node, names))
        except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise Unsure from error

    def known(self, node: cst.CSTNode | None, names: Mapping[str, Any]) -> Any:
        """Return a value that may be looked into. Raises Unsure for one that is only handed through."""
        value = self.value(node, names)
        if not isinstance(value, (*_PLAIN, list, tuple, set, frozenset, type)) and value not in _TYPES.values():
            raise Unsure
        return value

    def _name(self, node: cst.Name, names: Mapping[str, Any]) -> Any:
        if node.value in names:
            return names[node.value]
        known = {"True": True, "False": False, "None": None}
        return known[node.value] if node.value in known else self.named(node)

    def _literal(self, node: Any, _: Mapping[str, Any]) -> Any:
        value = fold(node)
        if value is UNKNOWN:
            raise Unsure
        return value

    def _formatted(self, node: cst.FormattedString, names: Mapping[str, Any]) -> str:
        out = []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText) and "\\" not in part.value:
                out.append(part.value.replace("{{", "{").replace("}}", "}"))
            elif isinstance(part, cst.FormattedStringExpression) and not (part.format_spec or part.conversion):
                value = self.known(part.expression, names)
                if not isinstance(value, str | int):
                    raise Unsure
                out.append(str(value))
            else:
                raise Unsure
        return "".join(out)

    def _sequence(self, node: Any, names: Mapping[str, Any]) -> Any:
        if any(isinstance(e, cst.StarredElement) for e in node.elements):
            raise Unsure
        made = [self.known(e.value, names) for e in node.elements]
        return tuple(made) if isinstance(node, cst.Tuple) else set(made) if isinstance(node, cst.Set) else made

    def _binary(self, node: cst.BinaryOperation, names: Mapping[str, Any]) -> Any:
        left, right = self.known(node.left, names), self.known(node.right, names)
        operation = _BINARY.get(type(node.operator))
        numbers = all(isinstance(x, int | float) for x in (left, right))
        texts = isinstance(left, str) and isinstance(right, str) and isinstance(node.operator, cst.Add)
        small = numbers and (not isinstance(node.operator, cst.Power) or (abs(right) <= 64 and abs(left) < 1e9))
        if operation is None or not (texts or small):
            raise Unsure
        return operation(left, right)

    def _unary(self, node: cst.UnaryOperation, names: Mapping[str, Any]) -> Any:
        value = self.known(node.expression, names)
        if isinstance(node.operator, cst.Not):
            return not value
        if isinstance(node.operator, cst.Minus | cst.Plus) and isinstance(value, int | float):
            return -value if isinstance(node.operator, cst.Minus) else +value
        raise Unsure

    def _boolean(self, node: cst.BooleanOperation, names: Mapping[str, Any]) -> Any:
        left = self.known(node.left, names)
        return self.value(node.right, names) if bool(left) == isinstance(node.operator, cst.And) else left

    def _comparison(self, node: cst.Comparison, names: Mapping[str, Any]) -> Any:
        left, result = self.known(node.left, names), True
        for target in node.comparisons:
            right = self.known(target.comparator, names)
            if isinstance(target.operator, cst.Is | cst.IsNot):
                if not any(x is None or isinstance(x, bool | type) for x in (left, right)):
                    raise Unsure  # whether two equal texts are one is nobody's business
                result = (left is right) == isinstance(target.operator, cst.Is)
            else:
                result = _COMPARE[type(target.operator)](left, right)
            if not result:
                return False
            left = right
        return result

    def _either(self, node: cst.IfExp, names: Mapping[str, Any]) -> Any:
        return self.value(node.body if self.known(node.test, names) else node.orelse, names)

    def _subscript(self, node: cst.Subscript, names: Mapping[str, Any]) -> Any:
        base = self.known(node.value, names)
        part = node.slice[0].slice
        if len(node.slice) != 1 or not isinstance(base, str | list | tuple):
            raise Unsure
        if isinstance(part, cst.Index):
            return base[self.known(part.value, names)]
        if isinstance(part, cst.Slice):
            ends = [None if x is None else self.known(x, names) for x in (part.lower, part.upper, part.step)]
            return base[slice(*ends)]
        raise Unsure

    def _call(self, node: cst.Call, names: Mapping[str, Any]) -> Any:
        if any(a.star for a in node.args) or any(a.keyword is not None for a in node.args):
            raise Unsure
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS:
            base = self.known(node.func.value, names)
            if type(base) is not str:
                raise Unsure
            args = [self.known(a.value, names) for a in node.args]
            if node.func.attr.value in ("replace", "join") and len(str(args)) + len(base) > 200:
                raise Unsure
            return getattr(base, node.func.attr.value)(*args)
        function = self.known(node.func, names)
        if function not in _TYPES.values():
            raise Unsure
        args = [self.known(a.value, names) for a in node.args]
        if function is str and not (len(args) == 1 and isinstance(args[0], str | int | float | bool)):
            raise Unsure
        if function is type and len(args) != 1:
            raise Unsure
        return function(*args)

    def _comprehension(self, node: Any, names: Mapping[str, Any]) -> list[Any]:
        loop = node.for_in
        if loop.inner_for_in is not None or loop.asynchronous is not None or not isinstance(loop.target, cst.Name):
            raise Unsure
        found = []
        for one in self.known(loop.iter, names):
            inside = {**names, loop.target.value: one}
            if all(self.known(test.test, inside) for test in loop.ifs):
                found.append(self.known(node.elt, inside))
        return found


_HANDLERS: dict[type, Any] = {
    cst.Name: Folding._name,
    cst.Integer: Folding._literal,
    cst.Float: Folding._literal,
    cst.SimpleString: Folding._literal,
    cst.ConcatenatedString: Folding._literal,
    cst.FormattedString: Folding._formatted,
    cst.List: Folding._sequence,
    cst.Tuple: Folding._sequence,
    cst.Set: Folding._sequence,
    cst.BinaryOperation: Folding._binary,
    cst.UnaryOperation: Folding._unary,
    cst.BooleanOperation: Folding._boolean,
    cst.Comparison: Folding._comparison,
    cst.IfExp: Folding._either,
    cst.Subscript: Folding._subscript,
    cst.Call: Folding._call,
    cst.ListComp: Folding._comprehension,
    cst.GeneratorExp: Folding._comprehension,
}


def builtin(name: str) -> Any:
    """Return the built-in type or function of this name. Raises Unsure."""
    if name not in _TYPES:
        raise Unsure
    return _TYPES[name]


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple | set | frozenset) and len(value) > _MOST:
        raise Unsure
    if type(value) is int and value.bit_length() > 256:
        raise Unsure
    return value


def literal(value: Any, spelled: str = "") -> str:
    """Return a literal that is exactly this value; `spelled` is preferred if it says the same. Raises Unsure."""
    if type(value) in (int, float) and _says(spelled, value):
        return spelled
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) is str:
        return _quoted(value)
    if type(value) in _PLAIN:
        return repr(value)
    if type(value) in (list, tuple) and len(value) <= 64:
        inner = ", ".join(literal(v) for v in value)
        return f"[{inner}]" if type(value) is list else f"({inner}{',' if len(value) == 1 else ''})"
    raise Unsure


def _quoted(value: str) -> str:
    """Prefer double quotes, as most files do."""
    plain = value.isprintable() and '"' not in value and "\\" not in value
    return f'"{value}"' if plain else repr(value)


def _says(text: str, value: float) -> bool:
    """Tell whether a text is one number, and this one."""
    try:
        if type(value) is int:
            return bool(_WHOLE.fullmatch(text)) and int(text, 0) == value
        return bool(_REAL.fullmatch(text)) and float(text) == value
    except ValueError:
        return False
