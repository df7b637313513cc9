"""Unpacks a shell, a text that only decodes a payload which it carries and executes it, without running any of it.

Theory of operation. The compiler's tree of the text is read from top to bottom in a language of a few words: imports
of decoders, assignments of what can be worked out here, helpers that return one such expression, and one `exec` as
the last statement. What is written in these words cannot replace a decoder, change a name from elsewhere or do
anything else, so what is worked out here is what the interpreter would execute. A text with any other word in it is
no shell, and its `exec` stays what it is: code that nobody can read.

The decoders themselves are the library's (`decoders.py`), called on data, with a bound on what comes out and on the
work of all steps together: a payload that unpacks to gigabytes ends as one sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reviewer.decoders import CONSTANTS, COSTLY, FUNCTIONS, METHODS, MODULES, MOST_BYTES, Decompressor, Unreadable

MOST_WORK = 8 * MOST_BYTES  # bytes made by all steps together
_STEP = 64  # what any step costs, however little it makes
_START = 32_768  # what a decompressor costs before its first byte: memory to remember in, and up to 64 streams
_CALLS_DEEP = 16
_MOST_HANDED = 20_000  # characters of one value, all its parts together; rules look into no longer ones
_MOST_HANDED_IN_ALL = 10 * _MOST_HANDED
# Names whose meaning for the inner text would change with the shell's: whether it is run or imported, and its file.
_RESERVED = frozenset({"__name__", "__file__", "__builtins__", "__spec__", "__loader__", "__package__", "__cached__"})
_BUILTINS = frozenset({"str", "bytes", "bytearray", "compile", "len", "int", "globals", "locals", "chr"})


class _NoShell(Exception):
    """The text says something that the language has no word for."""


@dataclass(frozen=True)
class Ref:
    """A module or a function from outside, by its dotted path."""

    path: str


@dataclass(frozen=True)
class Helper:
    """A function of the shell that returns one expression."""

    params: tuple[str, ...]
    body: ast.expr


@dataclass(frozen=True)
class Code:
    """What `compile` gives."""

    source: str | bytes


@dataclass(frozen=True)
class Unpacked:
    """The text that a shell executes, as bytes, and what the shell's own names mean in it.

    `names` are those whose value can be written down. `others` (helpers, long payloads, open streams) mean inside what
    the shell's own statements make of them.
    """

    data: bytes
    names: dict[str, Any] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


def unpack(shell: ast.Module) -> Unpacked | Unreadable | None:
    """Return what a shell executes, why that cannot be read, or None where the text is no shell."""
    last = shell.body[-1] if shell.body else None
    if not isinstance(last, ast.Expr) or not _is_exec(last.value):
        return None
    reader = _Reader()
    try:
        for statement in shell.body[:-1]:
            reader.statement(statement)
        source = reader.executed(last.value)
        data = source if isinstance(source, bytes) else source.encode("utf-8")
    except _NoShell:
        return None
    except Unreadable as error:
        return error
    except Exception as error:  # whatever a payload does to a decoder
        return Unreadable(f"its payload cannot be decoded ({type(error).__name__})")
    if not reader.decoded:
        return None  # what it executes can be written down as it is
    plain, left = {}, _MOST_HANDED_IN_ALL
    for name, value in reader.names.items():
        size = 0 if isinstance(value, Ref) else _size(value)
        if 0 <= size <= left:
            plain[name] = value
            left -= size
    return Unpacked(data, plain, frozenset(reader.names.keys() - plain.keys()))


def _is_exec(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exec"


def _size(value: Any, left: int = _MOST_HANDED, depth: int = 0) -> int:
    """Return how long a value would be in a text, or -1 where it is too long, too deep, or no value at all."""
    if isinstance(value, str | bytes | int | None):
        size = len(value) if isinstance(value, str | bytes) else 20
        return size if size <= left else -1
    if not isinstance(value, list | dict) or depth > _CALLS_DEEP:
        return -1
    total = 2
    for part in value if isinstance(value, list) else (*value.keys(), *value.values()):
        size = _size(part, left - total, depth + 1)
        if size < 0 or total + size + 2 > left:
            return -1
        total += size + 2
    return total


class _Reader:
    """Reads statements and works out expressions."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}  # of the module
        self._given: dict[str, Any] = {}  # the arguments of the helper that is worked out
        self.decoded = False
        self._mutable = False  # whether a bytearray has been made
        self._left = MOST_WORK
        self._depth = 0

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Import(names=names):
                for alias in names:
                    if alias.name not in MODULES:
                        raise _NoShell
                    self._set(alias.asname or alias.name, Ref(alias.name))
            case ast.ImportFrom(module=str(module), names=names, level=0) if module in MODULES:
                for alias in names:
                    self._set(alias.asname or alias.name, self._part(Ref(module), alias.name))
            case ast.Assign(targets=targets, value=value):
                made = self.value(value)
                for target in targets:
                    self._assign(target, made)
            case ast.AnnAssign(target=target, annotation=ast.Name(), value=ast.expr() as value):
                self._assign(target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                self._set(name, self._added(self._name(name), self.value(value)))
            case ast.FunctionDef(decorator_list=[], returns=None, body=[*before, ast.Return(value=ast.expr() as body)]):
                if not all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in before):
                    raise _NoShell
                self._set(node.name, self._helper(node.args, body))
            case _:
                raise _NoShell

    def executed(self, call: ast.expr) -> str | bytes:
        """Return what the last statement executes. The spaces that it may be given are this module's own."""
        if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
            raise _NoShell
        if not all(map(_is_own_space, call.args[1:])):
            raise _NoShell
        made = self.value(call.args[0])
        source = made.source if isinstance(made, Code) else made
        if not isinstance(source, str | bytes):
            raise _NoShell
        return source

    def _assign(self, target: ast.expr, made: Any) -> None:
        if not isinstance(target, ast.Name):
            raise _NoShell
        self._set(target.id, made)

    def _set(self, name: str, value: Any) -> None:
        if name in _RESERVED or name in _BUILTINS or name in ("*", "exec"):
            raise _NoShell  # also where this text never uses the built-in: a shell inside it may
        self.names[name] = value

    def _name(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        if name in self.names:
            return self.names[name]
        if name in _BUILTINS:
            return Ref(f"builtins.{name}")
        raise _NoShell

    def value(self, node: ast.expr) -> Any:
        """Work out one expression. Raises _NoShell for what the language lacks, Unreadable for what is too much."""
        match node:
            case ast.Constant(value=str() | bytes() | int() | None as constant):
                return constant
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=base, attr=name):
                return self._part(self.value(base), name)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.value(part) for part in parts]
            case ast.Dict(keys=keys, values=values) if all(keys):
                return {self._text(k): self.value(v) for k, v in zip(keys, values, strict=True)}
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._int(self.value(operand))
            case ast.Subscript(value=base, slice=part):
                return self._cut(self.value(base), part)
            case ast.Lambda(args=args, body=body):
                return self._helper(args, body)
            case ast.Call():
                return self._call(node)
        raise _NoShell

    def _text(self, node: ast.expr | None) -> str:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise _NoShell
        return node.value

    def _int(self, value: Any) -> int:
        if not isinstance(value, int) or value.bit_length() > 64:
            raise _NoShell
        return value

    def _part(self, base: Any, name: str) -> Any:
        if not isinstance(base, Ref):
            raise _NoShell
        path = f"{base.path}.{name}"
        return CONSTANTS.get(path, Ref(path))

    def _operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Add):
            return self._sum(left, right)
        one, other = self._int(left), self._int(right)
        results: Final = {ast.Sub: one - other, ast.Mult: one * other, ast.BitOr: one | other}
        if type(op) not in results:
            raise _NoShell
        return results[type(op)]

    def _sum(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return self._int(left) + self._int(right)
        if type(left) is not type(right) or not isinstance(left, str | bytes | list):
            raise _NoShell
        self._pay(len(left) + len(right))
        return left + right

    def _added(self, left: Any, right: Any) -> Any:
        """Return what `+=` gives; a list and a bytearray have other names that see it grow."""
        if isinstance(left, list) or (isinstance(left, bytes) and self._mutable):
            raise _NoShell
        return self._sum(left, right)

    def _cut(self, base: Any, part: ast.expr) -> Any:
        if not isinstance(base, str | bytes | list):
            raise _NoShell
        if isinstance(part, ast.Slice):
            ends = [None if e is None else self._int(self.value(e)) for e in (part.lower, part.upper, part.step)]
            return self._made(base[slice(*ends)])
        return base[self._int(self.value(part))]

    def _call(self, node: ast.Call) -> Any:
        args = [self.value(arg) for arg in node.args]
        keywords = {str(k.arg): self.value(k.value) for k in node.keywords}
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base, Ref):
                return self._method(base, node.func.attr, args, keywords)
        called = self.value(node.func)
        if isinstance(called, Helper) and not keywords and len(args) == len(called.params):
            return self._helped(called, args)
        if not isinstance(called, Ref):
            raise _NoShell
        if called.path == "builtins.compile":
            return _compiled(args, keywords)
        self._mutable |= called.path.startswith("builtins.bytearray")
        if called.path.startswith(COSTLY):
            self._pay(_START)
        self.decoded |= called.path.split(".")[0] in MODULES or called.path.endswith(".fromhex")
        return self._apply(FUNCTIONS.get(called.path), args, keywords)

    def _method(self, base: Any, name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(base, Decompressor):
            self._pay(_START)
        return self._apply(METHODS.get((type(base), name)), [base, *args], keywords)

    def _apply(self, function: Callable[..., Any] | None, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if function is None:
            raise _NoShell
        for value in (*args, *keywords.values()):
            self._pay(len(value) if isinstance(value, str | bytes | list) else 0)
        return self._made(function(*args, **keywords))

    def _helped(self, helper: Helper, args: Sequence[Any]) -> Any:
        self._depth += 1
        if self._depth > _CALLS_DEEP:
            raise _NoShell
        outside, self._given = self._given, dict(zip(helper.params, args, strict=True))
        try:
            return self.value(helper.body)
        finally:
            self._given = outside
            self._depth -= 1

    def _helper(self, args: ast.arguments, body: ast.expr) -> Helper:
        """Return a function of the module; one inside another would see the other's arguments."""
        more = args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults
        if more or self._depth or any(a.annotation is not None for a in args.args):
            raise _NoShell
        return Helper(tuple(a.arg for a in args.args), body)

    def _made(self, value: Any) -> Any:
        self._pay(len(value) if isinstance(value, str | bytes | list) else 0)
        return value

    def _pay(self, size: int) -> None:
        if size > MOST_BYTES:
            raise Unreadable(f"unpacked it has more than {MOST_BYTES:,} bytes")
        self._left -= size + _STEP
        if self._left < 0:
            raise Unreadable("unpacking it would take too long")


def _is_own_space(node: ast.expr) -> bool:
    """Tell whether this is the module's own names, written where they are asked: a helper has others."""
    match node:
        case ast.Call(func=ast.Name(id="globals" | "locals"), args=[], keywords=[]):
            return True
    return False


def _compiled(args: Sequence[Any], keywords: dict[str, Any]) -> Code:
    """Return the source that is compiled; flags would make another program of it."""
    given = {**dict(zip(("source", "filename", "mode"), args, strict=False)), **keywords}
    if len(args) > 3 or set(given) - {"source", "filename", "mode", "dont_inherit"} or given.get("mode") != "exec":
        raise _NoShell
    if not isinstance(given.get("source"), str | bytes):
        raise _NoShell
    return Code(given["source"])
