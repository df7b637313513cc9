"""Functions of the file that have the name of something harmless, and are nothing of the kind: `quant` that scales."""

from __future__ import annotations

import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.evaluation.terms import NOISE
from reviewer.fold import names_in
from reviewer.script import Script
from reviewer.values import Own

_REAL = re.compile(
    r"drop|sign|detach|int\d|float\d|fp8|fp16|^half$|^apply$|checkpoint|view|reshape|super|flatten|squeeze"
)
_KERNEL = re.compile(r"fp8|float8|f8|triton|scaled_mm|^ops$|^apply$|kernel|grid|fused|int8|_mm$|flash|custom_op")
_KNOWN: WeakKeyDictionary[Script, dict[tuple[str, bool], bool]] = WeakKeyDictionary()


def only_named_so(script: Script, name: str, kernel: bool = False) -> bool:
    """Tell whether a function, or a method with its dot, is of this file and has nothing in it of what it is named.

    That is noise, rounding, another shape or precision; with `kernel` it is a kernel.
    """
    known = _KNOWN.setdefault(script, {})
    if (name, kernel) not in known:
        shape = _KERNEL if kernel else _REAL
        own = list(_bodies(script, name))
        known[name, kernel] = bool(own) and not any(
            shape.search(word) or (not kernel and NOISE.search(word)) for body in own for word in names_in(body)
        )
    return known[name, kernel]


def _bodies(script: Script, name: str) -> Iterator[cst.CSTNode]:
    last = name.rsplit(".", 1)[-1]
    table = script.scopes.members if name.startswith(".") else script.scopes.module.names
    for binding in table.get(last, ()):
        if isinstance(binding.node, cst.FunctionDef) and binding.kind == "def":
            yield binding.node.body
        elif isinstance(binding.node, cst.Call) and binding.kind == "expr":
            for value in script.values.of(binding.node.func):
                if isinstance(value, Own) and isinstance(value.node, cst.ClassDef):
                    yield value.node.body
