"""Attempts at an import of which a run uses nothing: neither what was imported nor what tells whether it was."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.matchers.unused import looks_up_names, texts_naming
from reviewer.scope import dotted
from reviewer.script import Script


def idle_attempts(script: Script) -> Iterator[tuple[cst.Try, str, cst.Import | cst.ImportFrom]]:
    """Yield each with the name it binds first and the import that binds it.

    Only what sets a flag both ways counts: an import without one may be there for what loading it does.
    """
    found = []
    for attempt in script.tree.of(cst.Try):
        if attempt.orelse is None and attempt.finalbody is None:
            tried = _bound(script, attempt.body)
            others = [_bound(script, handler.body) for handler in attempt.handlers]
            if tried is None or not tried[0] or None in others:
                continue
            flags = {name for other in others if other for name in other[1]}
            names = [name for name, _ in tried[0]]
            if flags & tried[1] and not _is_read(script, attempt, {*names, *flags, *tried[1]}):
                found.append((attempt, *tried[0][0], {*names, *flags}))
    if found and not looks_up_names(script):
        texts = texts_naming(script, [id(text) for attempt, *_ in found for text in _texts(script, attempt)])
        yield from (one[:3] for one in found if not one[3] & texts)


def _bound(
    script: Script, body: cst.BaseSuite
) -> tuple[list[tuple[str, cst.Import | cst.ImportFrom]], set[str]] | None:
    """Return the names that a block imports and those that it sets; nothing where it does anything else."""
    imported: list[tuple[str, cst.Import | cst.ImportFrom]] = []
    flags: set[str] = set()
    for line in body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return None
        for small in line.body:
            match small:
                case cst.Import(names=names) | cst.ImportFrom(names=names) if not isinstance(names, cst.ImportStar):
                    for alias in names:
                        named = alias.asname.name if alias.asname is not None else alias.name
                        imported.append((dotted(named).partition(".")[0], small))
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    if script.values.constant(value) is UNKNOWN:
                        return None
                    flags.add(name)
                case cst.Pass():
                    pass
                case _:
                    return None
    return imported, flags


def _is_read(script: Script, attempt: cst.Try, names: set[str]) -> bool:
    return any(attempt not in script.tree.ancestors(use) for name in names for use in script.mentions.get(name, ()))


def _texts(script: Script, attempt: cst.Try) -> Iterator[cst.SimpleString]:
    return (text for text in script.tree.of(cst.SimpleString) if attempt in script.tree.ancestors(text))
