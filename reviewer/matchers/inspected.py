"""Whose source is asked for by `inspect.getsource` and its like: that of this file, or of code from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.script import Script
from reviewer.values import Own

Whose = Literal["own", "foreign", "unknown"]
_READERS = tuple(f"inspect.{name}" for name in ("getsource", "getsourcelines", "findsource", "getblock"))


def read_sources(script: Script) -> Iterator[tuple[Whose, cst.CSTNode]]:
    """Yield where a source is read, and whose it is; through a helper, where the helper is called."""
    for _, call in script.calling(_READERS):
        first = call.args[0].value if call.args else None
        for place, given in where_given(script, call, first):
            yield _whose(script, given), place
    for _, node in script.handing_on(_READERS):
        yield "unknown", node


def _whose(script: Script, node: cst.BaseExpression | None) -> Whose:
    values = script.values.of(node)
    paths = {value.path for value in values if not isinstance(value, Own)}
    if any(isinstance(value, Own) for value in values) or paths & {"__main__", "inspect.getmodule()"}:
        return "own"
    # A plain name that nothing binds is no import; what a call gives is anything.
    known = {path for path in paths if not path.startswith("builtins.") and "(" not in path}
    return "foreign" if known else "unknown"
