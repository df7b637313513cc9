"""Lets `isinstance` ask a node's real class alone.

libcst's nodes are abstract base classes, so `isinstance` and `match` go through Python code that also looks for
classes registered as others; none ever is. Rules ask some hundred thousand times for one script: a twentieth of the
audit. The classes get a metaclass that answers as that of plain classes does.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

import libcst as cst


class _Plain(ABCMeta):
    __instancecheck__ = type.__instancecheck__


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)


def ask_plainly() -> None:
    """Change the classes of all nodes, once."""
    for cls in {cst.CSTNode, *_below(cst.CSTNode)}:
        cls.__class__ = _Plain
