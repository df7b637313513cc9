"""The constants of the module that a section uses and does not set: with another width it is another model."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from reviewer.baselines.frozen import Accepted
from reviewer.fold import UNKNOWN
from reviewer.script import Script

_LONGEST = 200  # characters of a value that is written down


def constants_of(script: Script, names: Collection[str]) -> dict[str, str]:
    """Return what these names are in the module, as Python writes it, of those that have one constant value."""
    found = {name: _value(script, name) for name in sorted(names)}
    return {name: value for name, value in found.items() if value is not None}


def changed_constants(script: Script, accepted: Accepted) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    """Yield each constant that is not the baseline's: where it is set, its name, its value there and here."""
    for name, value in accepted.constants:
        bindings = script.scopes.module.names.get(name, ())
        here = _value(script, name)
        if bindings and here != value:
            node = bindings[-1].node or script.tree.module
            yield node, name, value, here or ("set more than once" if len(bindings) > 1 else "made by the run")


def _value(script: Script, name: str) -> str | None:
    bindings = script.scopes.module.names.get(name, ())
    if len(bindings) != 1 or bindings[0].kind != "expr":
        return None
    value = script.values.constant(bindings[0].node)
    if value is UNKNOWN or not isinstance(value, int | float | str | bool | None):
        return None
    text = repr(value)
    return text if len(text) <= _LONGEST else None
