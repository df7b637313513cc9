"""What a model gives out: an object that only holds logits and losses."""

from __future__ import annotations

import libcst as cst

from reviewer.fold import names_in
from reviewer.scope import dotted
from reviewer.script import Script


def is_record(script: Script, name: str) -> bool:
    """Tell whether this makes an object of the file that holds what it is given: a named tuple, a dataclass."""
    found = [b.node for b in script.scopes.module.names.get(name, ()) if isinstance(b.node, cst.ClassDef)]
    if len(found) != 1 or any(isinstance(one, cst.FunctionDef) for one in found[0].body.body):
        return False
    tuples = any(dotted(base.value).endswith("NamedTuple") for base in found[0].bases)
    return tuples or any("dataclass" in names_in(mark.decorator) for mark in found[0].decorators)
