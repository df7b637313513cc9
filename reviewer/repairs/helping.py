"""What a script's own helpers return for certain arguments, where no variable of the environment is set.

`_e("LR", 0.1)` with `def _e(key, default): return type(default)(os.environ.get(key, default))` is 0.1. The body of a
helper is followed statement by statement; one that does anything but look up, convert and decide is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libcst as cst

from reviewer.budget import Budget
from reviewer.fold import UNKNOWN
from reviewer.repairs.folding import Folding, Unsure, builtin
from reviewer.scope import Function, parameters
from reviewer.script import Script
from reviewer.values import ENVIRON, Own, Ref

_GETTING = frozenset({f"{ENVIRON}.get", f"{ENVIRON}.pop", "os.getenv"})
_HOPS = 8
_FALLS_THROUGH = object()


class Absent(Exception):
    """`os.environ["LR"]` where nothing is set."""


class Left:
    """An argument that is handed through a helper unread: the expression itself is the value."""

    def __init__(self, node: cst.BaseExpression) -> None:
        self.node = node


class Helping(Folding):
    """Folds expressions that read the environment. `absent` tells whether a variable is certainly not set."""

    def __init__(self, script: Script, absent: Callable[[str], bool], budget: Budget) -> None:
        super().__init__(budget)
        self._script, self._absent = script, absent
        self._depth = 0

    def named(self, node: cst.Name) -> Any:
        """Return the value of a constant of the module, or a built-in type."""
        bindings = self._script.scopes.of(node).find(node.value)
        if not bindings:
            return builtin(node.value)
        if len(bindings) == 1 and bindings[0].kind == "def" and isinstance(bindings[0].node, cst.FunctionDef):
            return Own(bindings[0].node)
        value = self._script.values.constant(node)
        if value is UNKNOWN or not isinstance(value, str | int | float | bool | None):
            raise Unsure
        return value

    def given(self, node: cst.CSTNode, names: Mapping[str, Any]) -> Any:
        """Answer reads of the environment and calls of helpers."""
        match node:
            case cst.Call():
                return self._called(node, names)
            case cst.Subscript() if self._is_environ(node.value):
                key = node.slice[0].slice
                if isinstance(key, cst.Index) and self._unset(self.known(key.value, names)):
                    raise Absent
            case cst.Comparison(comparisons=[target]) if self._is_environ(target.comparator):
                if isinstance(target.operator, cst.In | cst.NotIn) and self._unset(self.known(node.left, names)):
                    return isinstance(target.operator, cst.NotIn)
            case cst.Lambda():
                return Own(node)
        raise Unsure

    def _is_environ(self, node: cst.CSTNode) -> bool:
        if not isinstance(node, cst.Name | cst.Attribute):
            return False
        values = self._script.values.of(node)
        return len(values) == 1 and values[0] == Ref(ENVIRON)

    def _unset(self, key: object) -> bool:
        key = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        if not isinstance(key, str) or not self._absent(key):
            raise Unsure
        return True

    def _called(self, node: cst.Call, names: Mapping[str, Any]) -> Any:
        if any(a.star for a in node.args):
            raise Unsure
        function: Any = None
        if isinstance(node.func, cst.Name) and node.func.value in names:
            function = names[node.func.value]
        else:
            found = self._script.values.of(node.func)
            function = found[0] if len(found) == 1 else None
        if isinstance(function, Ref) and function.path in _GETTING and self._is_direct(node.func):
            return self._got(node, function.path, names)
        if isinstance(function, Own) and not function.given and not isinstance(function.node, cst.ClassDef):
            return self._run(node, function, names)
        raise Unsure

    def _is_direct(self, function: cst.BaseExpression) -> bool:
        """Tell whether this is the method itself, and not a `partial` of it, whose arguments are others."""
        if isinstance(function, cst.Attribute):
            paths = self._script.values.paths(function.value)
            return function.attr.value in ("get", "pop", "getenv") and set(paths) <= {ENVIRON, "os"}
        bindings = self._script.scopes.of(function).find(function.value) if isinstance(function, cst.Name) else ()
        if len(bindings) != 1:
            return False
        node = bindings[0].node
        return bindings[0].kind == "ref" or (isinstance(node, cst.Attribute) and self._is_direct(node))

    def _got(self, node: cst.Call, path: str, names: Mapping[str, Any]) -> Any:
        args = [a.value for a in node.args if a.keyword is None]
        named = {a.keyword.value: a.value for a in node.args if a.keyword is not None}
        default = args[1] if len(args) > 1 else named.pop("default", None)
        if named or not 0 < len(args) <= 2:
            raise Unsure
        self._unset(self.known(args[0], names))
        if default is None and path.endswith(".pop"):
            raise Absent
        return self._argument(default, names) if default is not None else None

    def _argument(self, node: cst.BaseExpression, names: Mapping[str, Any]) -> Any:
        try:
            return self.value(node, names)
        except Unsure:
            if self._depth:
                raise
            return Left(node)

    def _run(self, call: cst.Call, own: Own, names: Mapping[str, Any]) -> Any:
        helper = own.node
        if self._depth >= _HOPS or not isinstance(helper, Function):
            raise Unsure
        if isinstance(helper, cst.FunctionDef) and not _is_plain(helper):
            raise Unsure
        params = parameters(helper)
        if any(isinstance(s, cst.Param) for s in (helper.params.star_arg, helper.params.star_kwarg)):
            raise Unsure
        if isinstance(self._script.scopes.of(helper).node, cst.ClassDef):
            is_static = isinstance(helper, cst.FunctionDef) and bool(helper.decorators)
            params = params if is_static else params[1:]
        bound = self._bound(call, names, {p.name.value: p.default for p in params})
        self._depth += 1
        try:
            if isinstance(helper, cst.Lambda):
                return self.value(helper.body, bound)
            result = self._block(helper.body.body, bound)
            return None if result is _FALLS_THROUGH else result
        finally:
            self._depth -= 1

    def _bound(self, call: cst.Call, names: Mapping[str, Any], params: dict[str, Any]) -> dict[str, Any]:
        positional = [a.value for a in call.args if a.keyword is None]
        given = dict(zip(params, positional, strict=False))
        for arg in call.args:
            if arg.keyword is not None:
                given[arg.keyword.value] = arg.value
        if len(positional) > len(params) or given.keys() - params.keys():
            raise Unsure
        bound = {name: self._argument(node, names) for name, node in given.items()}
        if sum(isinstance(v, Left) for v in bound.values()) > 1:
            raise Unsure  # one of them would not be evaluated any more
        self._depth += 1  # a default belongs to the helper's own surroundings
        try:
            for name, default in params.items():
                if name not in bound:
                    if default is None:
                        raise Unsure
                    bound[name] = self.value(default, {})
        finally:
            self._depth -= 1
        return bound

    def _block(self, body: Sequence[Any], names: dict[str, Any]) -> Any:
        for statement in body:
            result = self._statement(statement, names)
            if result is not _FALLS_THROUGH:
                return result
        return _FALLS_THROUGH

    def _statement(self, node: cst.CSTNode, names: dict[str, Any]) -> Any:
        self._budget.spend()
        match node:
            case cst.SimpleStatementLine() | cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.Else():
                inner = node.body if not isinstance(node, cst.Else) else node.body.body
                return self._block(inner, names)
            case cst.Return(value=value):
                return None if value is None else self.value(value, names)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                names[name] = self.value(value, names)
            case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value):
                names[name] = self.value(value, names)
            case cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString()) | cst.Pass():
                pass
            case cst.If(test=test, body=block, orelse=orelse):
                if self.known(test, names):
                    return self._statement(block, names)
                if orelse is not None:
                    return self._statement(orelse, names)
            case cst.Try(handlers=[handler], orelse=None, finalbody=None):
                return self._try(node, handler, names)
            case _:
                raise Unsure
        return _FALLS_THROUGH

    def _try(self, node: cst.Try, handler: cst.ExceptHandler, names: dict[str, Any]) -> Any:
        try:
            return self._statement(node.body, names)
        except Absent:
            if not any(
                p in ("builtins.KeyError", "builtins.LookupError") for p in self._script.values.paths(handler.type)
            ):
                raise
            return self._statement(handler.body, names)


def _is_plain(function: cst.FunctionDef) -> bool:
    """Tell whether a helper is what it says: no coroutine, no decorator but `staticmethod` and the caches."""
    harmless = {"staticmethod", "cache"}
    marks = [m.decorator for m in function.decorators]
    return function.asynchronous is None and all(isinstance(m, cst.Name) and m.value in harmless for m in marks)
