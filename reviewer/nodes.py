"""Which fields of libcst's node classes hold code; whitespace, brackets and punctuation are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any

import libcst as cst

_PUNCTUATION = (
    "whitespace", "lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "leading_lines", "lines_after", "header",
    "footer", "trailing_whitespace", "comma", "semicolon", "equal", "newline", "operator", "dot", "indent",
    "first_colon", "second_colon", "colon", "asynchronous", "encoding", "default_", "has_trailing", "posonly_ind",
    "relative", "separator", "bar", "prefix", "start", "end",
)  # fmt: skip

GETTERS: dict[type, Callable[[Any], Any] | None] = {}


def getter(cls: type) -> Callable[[Any], Any] | None:
    """Return what fetches the code-holding fields of a node class, always as a tuple."""
    names = [f.name for f in fields(cls) if not f.name.startswith(_PUNCTUATION) and f.name != "star"]
    if issubclass(cls, cst.Name | cst.BaseNumber | cst.SimpleString | cst.FormattedStringText):
        names = []
    get = attrgetter(*names) if names else None
    if get is not None and len(names) == 1:
        one = get
        return lambda node: (one(node),)
    return get


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the code-holding children of a node."""
    cls = type(node)
    if cls not in GETTERS:
        GETTERS[cls] = getter(cls)
    get = GETTERS[cls]
    for value in get(node) if get is not None else ():
        if isinstance(value, cst.CSTNode):
            yield value
        elif type(value) in (tuple, list):
            yield from value


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and every node in it, in no order that matters."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo.extend(children(one))
