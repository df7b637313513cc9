"""Texts that are put together of pieces: `"data/" "val.bin"`, `"env" + "iron"`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script

_DEEPEST = 24


def joined_texts(script: Script) -> Iterator[tuple[cst.BinaryOperation | cst.ConcatenatedString, str]]:
    """Yield each text that is put together of constants, one of them written there, with what it is in the end.

    What is only a part of another one is left out: it is no text of the run, and each of a thousand pieces would be
    put together anew. So would they be where one of them is not known, and there the search soon ends.
    """
    known: set[int] = set()  # parts of what has been told
    unknown: dict[int, int] = {}  # parts of what is not constant, and how many others that is around them
    for node in script.tree.both(cst.BinaryOperation, cst.ConcatenatedString):  # the outer one comes first
        parts = (node.left, node.right)
        if id(node) in known:
            known.update(map(id, parts))
            continue
        depth = unknown.get(id(node), 0)
        if depth > _DEEPEST or not any(isinstance(part, cst.BaseString) for part in parts):
            unknown.update(dict.fromkeys(map(id, parts), depth + (depth > _DEEPEST)))
            continue
        value = script.values.constant(node)
        if isinstance(value, str):
            yield node, value
            known.update(map(id, parts))
        else:
            unknown.update(dict.fromkeys(map(id, parts), depth + 1))
