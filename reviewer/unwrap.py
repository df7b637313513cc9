"""Unpacks a shell, a text that only decodes a payload which it carries and executes it, without running any of it.

Theory of operation. The compiler's tree of the text is read from top to bottom in a language of a few words: imports
of decoders, assignments of what can be worked out here, helpers that return one such expression, comprehensions over
one thing, and one `exec` as the last statement. What is written in these words cannot replace a decoder, change a name
from elsewhere or do anything else, so what is worked out here is what the interpreter would execute. A text with any
other word in it is no shell, and its `exec` stays what it is: code that nobody can read.

The decoders themselves are the library's (`decoders.py`), called on data, with a bound on what comes out and on the
work of all steps together: a payload that unpacks to gigabytes ends as one sentence.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reviewer.packed.decoders import (
    CONSTANTS,
    COSTLY,
    FUNCTIONS,
    METHODS,
    MODULES,
    MOST_BYTES,
    Decompressor,
    Unreadable,
)
from reviewer.packed.shellvalues import Code, Helper, NoShell, Ref, Unpacked, compiled, handed, is_own_space

MOST_WORK = 8 * MOST_BYTES  # bytes made by all steps together
_STEP = 64  # what any step costs, however little it makes
_START = 32_768  # what a decompressor costs before its first byte: memory to remember in, and up to 64 streams
_CALLS_DEEP = 16
_MOST_TURNS = 1_500_000  # expressions worked out in comprehensions, a second or two
# Names whose meaning for the inner text would change with the shell's: whether it is run or imported, and its file.
_RESERVED = frozenset({"__name__", "__file__", "__builtins__", "__spec__", "__loader__", "__package__", "__cached__"})
_BUILTINS = frozenset({
    "str", "bytes", "bytearray", "compile", "len", "int", "globals", "locals", "chr", "ord", "list", "range", "map",
    "reversed", "enumerate", "__import__",
})  # fmt: skip
_ITERATORS = frozenset({"map", "reversed", "enumerate"})  # can be gone through once, so nothing may keep one
_NUMBERS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv, ast.RShift: operator.rshift,
}  # fmt: skip
# Making text out of anything else is decoding, too, even without a module.
_MAKERS = ("builtins.chr", "builtins.bytes", "builtins.bytearray", "builtins.map")


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
    except NoShell:
        return None
    except Unreadable as error:
        return error
    except Exception as error:  # whatever a payload does to a decoder
        return Unreadable(f"its payload cannot be decoded ({type(error).__name__})")
    if not reader.decoded:
        return None  # what it executes can be written down as it is
    plain = handed(reader.names)
    return Unpacked(data, plain, frozenset(reader.names.keys() - plain.keys()))


def _is_exec(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval")


class _Reader:
    """Reads statements and works out expressions."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}  # of the module
        self._given: dict[str, Any] = {}  # the arguments of the helper that is worked out
        self.decoded = False
        self._mutable = False  # whether a bytearray has been made
        self._left = MOST_WORK
        self._depth = 0
        self._turns = 0

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Import(names=names):
                for alias in names:
                    if alias.name not in MODULES:
                        raise NoShell
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
                    raise NoShell
                self._set(node.name, self._helper(node.args, body))
            case _:
                raise NoShell

    def executed(self, call: ast.expr) -> str | bytes:
        """Return what the last statement executes. The spaces that it may be given are this module's own."""
        if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
            raise NoShell
        if not all(map(is_own_space, call.args[1:])):
            raise NoShell
        made = self.value(call.args[0])
        if isinstance(call.func, ast.Name) and call.func.id == "eval" and not isinstance(made, Code):
            raise NoShell  # of a text, it works out one expression
        source = made.source if isinstance(made, Code) else made
        if not isinstance(source, str | bytes):
            raise NoShell
        return source

    def _assign(self, target: ast.expr, made: Any) -> None:
        if not isinstance(target, ast.Name):
            raise NoShell
        self._set(target.id, made)

    def _set(self, name: str, value: Any) -> None:
        if name in _RESERVED or name in _BUILTINS or name in ("*", "exec", "eval"):
            raise NoShell  # also where this text never uses the built-in: a shell inside it may
        self.names[name] = value

    def _name(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        if name in self.names:
            return self.names[name]
        if name in _BUILTINS:
            return Ref(f"builtins.{name}")
        raise NoShell

    def value(self, node: ast.expr) -> Any:
        """Work out one expression. Raises NoShell for what the language lacks, Unreadable for what is too much."""
        if self._turns:
            self._turn()
        match node:
            case ast.Constant(value=str() | bytes() | int() | None as constant):
                return constant
            case ast.JoinedStr(values=parts):
                return self._made("".join(self._formatted(part) for part in parts))
            case ast.ListComp(elt=element, generators=[loop]):
                return self._each(element, loop)
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
        raise NoShell

    def _text(self, node: ast.expr | None) -> str:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise NoShell
        return node.value

    def _int(self, value: Any) -> int:
        if not isinstance(value, int) or value.bit_length() > 64:
            raise NoShell
        return value

    def _part(self, base: Any, name: str) -> Any:
        if not isinstance(base, Ref):
            raise NoShell
        path = f"{base.path}.{name}"
        return CONSTANTS.get(path, Ref(path))

    def _operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Add):
            return self._sum(left, right)
        if type(op) not in _NUMBERS:
            raise NoShell
        return _NUMBERS[type(op)](self._int(left), self._int(right))

    def _sum(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return self._int(left) + self._int(right)
        if type(left) is not type(right) or not isinstance(left, str | bytes | list):
            raise NoShell
        self._pay(len(left) + len(right))
        return left + right

    def _added(self, left: Any, right: Any) -> Any:
        """Return what `+=` gives; a list and a bytearray have other names that see it grow."""
        if isinstance(left, list) or (isinstance(left, bytes) and self._mutable):
            raise NoShell
        return self._sum(left, right)

    def _cut(self, base: Any, part: ast.expr) -> Any:
        if not isinstance(base, str | bytes | list):
            raise NoShell
        if isinstance(part, ast.Slice):
            ends = [None if e is None else self._int(self.value(e)) for e in (part.lower, part.upper, part.step)]
            self.decoded |= ends[2] is not None
            return self._made(base[slice(*ends)])
        return base[self._int(self.value(part))]

    def _call(self, node: ast.Call) -> Any:
        func = node.func
        if isinstance(func, ast.Attribute) and not isinstance(base := self.value(func.value), Ref):
            args, keywords = self._arguments(node)
            return self._method(base, func.attr, args, keywords)
        called = self.value(func)
        if isinstance(called, Helper):  # which may look at an argument twice
            if node.keywords or len(node.args) != len(called.params):
                raise NoShell
            return self._helped(called, [self.value(arg) for arg in node.args])
        args, keywords = self._arguments(node)
        return self._function(called, args, keywords)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        args = [self._argument(arg) for arg in node.args]
        return args, {str(k.arg): self.value(k.value) for k in node.keywords}

    def _function(self, called: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if not isinstance(called, Ref):
            raise NoShell
        if called.path == "builtins.compile":
            return compiled(args, keywords)
        if called.path == "builtins.__import__":
            if keywords or len(args) != 1 or args[0] not in MODULES:
                raise NoShell
            return Ref(args[0])
        self._mutable |= called.path.startswith("builtins.bytearray")
        if called.path.startswith(COSTLY):
            self._pay(_START)
        self.decoded |= called.path.split(".")[0] in MODULES or called.path.startswith(_MAKERS)
        return self._apply(FUNCTIONS.get(called.path), args, keywords)

    def _argument(self, node: ast.expr) -> Any:
        """Work out an argument, which may be something that can be gone through only once."""
        match node:
            case ast.GeneratorExp(elt=element, generators=[loop]):
                return self._each(element, loop)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if (
                name in _ITERATORS and name not in self._given
            ):
                return self._iterated(name, args)
        return self.value(node)

    def _iterated(self, name: str, args: Sequence[ast.expr]) -> list[Any]:
        self.decoded = True
        if name == "map" and len(args) == 2:
            function, items = self.value(args[0]), self._items(args[1])
            return list(self._mapped(function, items))
        if len(args) != 1:
            raise NoShell
        items = self._items(args[0])
        return items[::-1] if name == "reversed" else [[at, item] for at, item in enumerate(items)]

    def _mapped(self, function: Any, items: Sequence[Any]) -> Iterator[Any]:
        self._turns += 1
        for item in items:
            self._turn()
            if isinstance(function, Helper):
                if len(function.params) != 1:
                    raise NoShell
                yield self._helped(function, [item])
            else:
                yield self._function(function, [item], {})

    def _items(self, node: ast.expr) -> list[Any]:
        source = self._argument(node)
        if not isinstance(source, str | bytes | list):
            raise NoShell
        self._pay(len(source))
        return list(source)

    def _each(self, element: ast.expr, loop: ast.comprehension) -> list[Any]:
        """Work out a comprehension over one thing, without a condition."""
        if loop.ifs or loop.is_async or self._depth >= _CALLS_DEEP:
            raise NoShell
        items, outside = self._items(loop.iter), self._given
        self.decoded = True
        self._turns += 1
        self._depth += 1
        made = []
        try:
            for item in items:
                self._turn()
                self._given = {**outside, **self._bound(loop.target, item)}
                made.append(self.value(element))
        finally:
            self._given = outside
            self._depth -= 1
        return made

    def _bound(self, target: ast.expr, item: Any) -> dict[str, Any]:
        match target:
            case ast.Name(id=name):
                return {name: item}
            case ast.Tuple(elts=names) if isinstance(item, list) and len(item) == len(names):
                return {n.id: part for n, part in zip(names, item, strict=True) if isinstance(n, ast.Name)}
        raise NoShell

    def _formatted(self, part: ast.expr) -> str:
        """Work out one part of an f-string, which must be text as it is."""
        if isinstance(part, ast.FormattedValue):
            if part.conversion != -1 or part.format_spec is not None:
                raise NoShell
            part = part.value
        text = self.value(part)
        if not isinstance(text, str):
            raise NoShell
        return text

    def _turn(self) -> None:
        self._turns += 1
        if self._turns > _MOST_TURNS:
            raise Unreadable("unpacking it would take too long")

    def _method(self, base: Any, name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(base, Decompressor):
            self._pay(_START)
        self.decoded |= name in ("translate", "to_bytes")
        return self._apply(METHODS.get((type(base), name)), [base, *args], keywords)

    def _apply(self, function: Callable[..., Any] | None, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        if function is None:
            raise NoShell
        for value in (*args, *keywords.values()):
            self._pay(len(value) if isinstance(value, str | bytes | list) else 0)
        return self._made(function(*args, **keywords))

    def _helped(self, helper: Helper, args: Sequence[Any]) -> Any:
        self._depth += 1
        if self._depth > _CALLS_DEEP:
            raise NoShell
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
            raise NoShell
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
