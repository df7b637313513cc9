"""Imports of modules that are not on the closed list of a competition's policy, where it has one."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import libcst as cst

from reviewer.files.siblings import KIT
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import IMPORTERS

_ALWAYS = sys.stdlib_module_names | KIT | {"__main__"}  # what is done with Python's own modules, the rules judge


def is_listed(script: Script, module: str) -> bool:
    """Tell whether the policy names a module, or one above it, in one of its lists."""
    policy, top = script.policy, module.partition(".")[0]
    return policy.allows_import(module, top) or any(
        f"{module}.".startswith(f"{one}.") for one in policy.only_imports or ()
    )


def find_unlisted(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield each import of what is neither Python's, nor the kit's, nor listed; nothing where there is no list."""
    if script.policy.only_imports is None:
        return
    for plain in script.tree.of(cst.Import):
        for alias in plain.names:
            if not _may(script, path := dotted(alias.name)):
                yield plain, path
    for chosen in script.tree.of(cst.ImportFrom):
        module = "." * len(chosen.relative) + (dotted(chosen.module) if chosen.module is not None else "")
        if _may(script, module):
            continue
        names = [] if isinstance(chosen.names, cst.ImportStar) else [dotted(a.name) for a in chosen.names]
        if not names or not all(_may(script, f"{module}.{name}") for name in names):
            yield chosen, module
    for _, call in script.calling(IMPORTERS):
        named = script.values.constant(call.args[0].value) if call.args else None
        if isinstance(named, str) and not _may(script, module := named.partition(":")[0]):
            yield call, module


def _may(script: Script, module: str) -> bool:
    return module.partition(".")[0] in _ALWAYS or is_listed(script, module)
