"""Whether a value is code: a function, a method, a class; and whether it only compiles what it replaces."""

from __future__ import annotations

import builtins
import re

import libcst as cst

from reviewer.script import Script
from reviewer.values import Own

_MAKERS = frozenset([
    "types.MethodType()", "types.FunctionType()", "builtins.staticmethod()", "builtins.classmethod()",
    "builtins.property()", "functools.partial()", "functools.partialmethod()", "functools.lru_cache()",
    "functools.cache()", "functools.wraps()()", "unittest.mock.Mock()", "unittest.mock.MagicMock()", "torch.compile()",
])  # fmt: skip
_DTYPE = re.compile(r"(b?float|u?int|complex|q?u?int)\d+\w*$|(bool|half|double|long|short|float|int|strided)$")
# What gives back the same function, faster or without gradients.
_SAME = (
    "torch.compile", "torch._dynamo.", "torch.compiler.", "torch.jit.script", "torch.no_grad", "torch.inference_mode",
    "torch.autocast", "torch.amp.autocast", "torch.cuda.amp.", "torch.jit.ignore",
)  # fmt: skip


def is_code(script: Script, value: cst.BaseExpression | None) -> bool:
    """Tell whether a value can be called: a function or class of the script or from elsewhere, a bound method."""
    if value is None:
        return False
    for one in script.values.of(value):
        if isinstance(one, Own) or one.path in _MAKERS:
            return True
        home, _, last = one.path.rpartition(".")
        if home == "builtins":
            if callable(getattr(builtins, last, None)):
                return True
        elif home and "(" not in one.path and not last.isupper() and not _DTYPE.match(last):
            return True
    return False


def is_same(script: Script, base: cst.CSTNode, name: str | None, value: cst.BaseExpression | None) -> bool:
    """Tell whether `base.name` becomes `torch.compile(base.name)`, or the like."""
    if name is None or value is None:
        return False
    wanted = f"{script.tree.code(base)}.{name}"
    while isinstance(value, cst.Call) and value.args:
        maker = value.func
        while isinstance(maker, cst.Call):  # `torch.compile(mode=...)(f)`
            maker = maker.func
        paths = script.values.paths(maker)
        if not any(path.startswith(_SAME) for path in paths):
            return False
        value = value.args[0].value
        if isinstance(value, cst.Attribute | cst.Name) and script.tree.code(value) == wanted:
            return True
        if isinstance(value, cst.Name):  # `forward = GPT.forward` before it
            bindings = script.scopes.of(value).find(value.value)
            if len(bindings) == 1 and isinstance(bindings[0].node, cst.Attribute):
                return script.tree.code(bindings[0].node) == wanted
    return False
