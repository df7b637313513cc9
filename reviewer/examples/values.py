"""Works out the texts of which examples are put together: constants, f-strings, joined lines, small helpers of those.

The files are our own, so nothing here guards against hostile ones; what is not known is said to be so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = "reviewer."
_METHODS = frozenset(
    ["replace", "strip", "lstrip", "rstrip", "format", "join", "removeprefix", "removesuffix", "split", "splitlines"]
)
_DEEPEST = 40


class Unknown(Exception):
    """The source says it in a way that is not read here."""


@dataclass
class Source:
    """One file of rules or examples: what it defines, and which names come from other such files."""

    path: Path
    defined: dict[str, ast.expr | ast.FunctionDef] = field(default_factory=dict)
    brought: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in _parsed(self.path).body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.defined[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.defined[name] = value
                case ast.FunctionDef(name=name):
                    self.defined[name] = statement
                case ast.ImportFrom(module=str(module), names=names) if module.startswith(_PACKAGE):
                    for alias in names:
                        self.brought[alias.asname or alias.name] = module.removeprefix(_PACKAGE), alias.name

    def meant(self, name: str) -> tuple[Source, ast.expr | ast.FunctionDef | None]:
        """Return what a name of the file stands for, and the file in which that is written."""
        if name not in self.brought:
            return self, self.defined.get(name)
        module, name = self.brought[name]
        source = Source(self.path.parents[1].joinpath(*module.split(".")).with_suffix(".py"))
        return source, source.defined.get(name)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def worth(source: Source, node: ast.expr, given: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """Return the value of an expression, in which `given` are names of a helper. Raises Unknown."""
    if depth > _DEEPEST:
        raise Unknown
    names = given or {}

    def of(part: ast.expr) -> Any:
        return worth(source, part, names, depth + 1)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            where, meant = source.meant(name)
            if not isinstance(meant, ast.expr):
                raise Unknown
            return worth(where, meant, None, depth + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return of(left) + of(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return of(left) * of(right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return of(body) if of(test) else of(orelse)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_spread(parts, of))
        case ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            return of(base)[slice(lower and of(lower), upper and of(upper))]
        case ast.Subscript(value=base, slice=index):
            return of(base)[of(index)]
        case ast.JoinedStr(values=parts):
            return "".join(str(of(part)) for part in parts)
        case ast.FormattedValue(value=value, conversion=conversion, format_spec=None):
            return repr(of(value)) if conversion == ord("r") else of(value)
        case ast.GeneratorExp(elt=element, generators=[loop]) | ast.ListComp(elt=element, generators=[loop]):
            return tuple(_each(source, element, loop, names, depth))
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=args, keywords=[]) if name in _METHODS:
            text = of(base)
            if isinstance(text, str):
                return getattr(text, name)(*_spread(args, of))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name not in names:
            where, helper = source.meant(name)
            if isinstance(helper, ast.FunctionDef) and all(k.arg for k in keywords):
                named = {str(k.arg): of(k.value) for k in keywords}
                return _returned(where, helper, _spread(args, of), named, depth)
    raise Unknown


def _spread(parts: list[ast.expr], of: Any) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            found.extend(of(part.value))
        else:
            found.append(of(part))
    return found


def _each(
    source: Source, element: ast.expr, loop: ast.comprehension, names: Mapping[str, Any], depth: int
) -> Iterator[Any]:
    if not isinstance(loop.target, ast.Name):
        raise Unknown
    for item in worth(source, loop.iter, names, depth + 1):
        inside = {**names, loop.target.id: item}
        if all(worth(source, test, inside, depth + 1) for test in loop.ifs):
            yield worth(source, element, inside, depth + 1)


def _returned(source: Source, helper: ast.FunctionDef, args: list[Any], named: dict[str, Any], depth: int) -> Any:
    """Return what a helper makes that sets a few names and returns an expression."""
    known = _arguments(source, helper.args, args, named, depth)
    for statement in helper.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = worth(source, value, known, depth + 1)
            case ast.Return(value=ast.expr() as value):
                return worth(source, value, known, depth + 1)
            case _:
                raise Unknown
    raise Unknown


def _arguments(
    source: Source, params: ast.arguments, args: list[Any], named: dict[str, Any], depth: int
) -> dict[str, Any]:
    positional = [p.arg for p in (*params.posonlyargs, *params.args)]
    known: dict[str, Any] = {}
    defaults = dict(zip(reversed(positional), reversed(params.defaults), strict=False))
    defaults |= {p.arg: d for p, d in zip(params.kwonlyargs, params.kw_defaults, strict=True) if d is not None}
    for name, default in defaults.items():
        known[name] = worth(source, default, None, depth + 1)
    known |= dict(zip(positional, args, strict=False)) | named
    if params.vararg is not None:
        known[params.vararg.arg] = tuple(args[len(positional) :])
    return known
