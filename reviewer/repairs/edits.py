"""From edits of nodes to a new text, in which every other byte is as it was.

An edit replaces the source of one node. What has no text goes: a statement with its lines, an element of a list with
its comma, and where a block would be left empty, a `pass` stays. The edits of one finding are made together or not at
all, and of two findings whose edits overlap the first one is served; the other one comes up again in the next round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import libcst as cst

from reviewer.engine import Tree
from reviewer.found import Edit
from reviewer.layout import Layout

_STATEMENTS = (cst.BaseCompoundStatement, cst.SimpleStatementLine)
_LISTED = (cst.ImportAlias, cst.Element, cst.StarredElement, cst.Arg, cst.DictElement, cst.Param)
_SIMPLE = cst.BaseSmallStatement
_BLOCKS = (cst.IndentedBlock, cst.SimpleStatementSuite, cst.SimpleStatementLine, cst.Module)


@dataclass(frozen=True)
class Change:
    """A piece of text to be replaced: offsets, and what stands there then."""

    start: int
    end: int
    text: str


class Overlap(Exception):
    """Edits that cannot be made together."""


def changes(tree: Tree, layout: Layout, edits: Sequence[Edit]) -> list[Change]:
    """Return what a list of edits does to the text, in source order. Raises Overlap where they exclude each other."""
    found: list[Change] = []
    gone: dict[int, list[cst.CSTNode]] = defaultdict(list)
    for edit in {(id(e.node), e.text): e for e in edits}.values():
        node = edit.node
        if isinstance(node, _SIMPLE):
            node = _line_of(tree, node)
        if edit.text:
            found.append(_replaced(layout, node, edit.text))
        elif isinstance(node, cst.If) and _is_elif(tree, node):
            start = layout.code(node)[0]
            found.append(Change(layout.line_start(start), layout.whole(node)[1], ""))
        elif (holder := tree.parent(node)) is not None:
            gone[id(holder)].append(node)
    for nodes in gone.values():
        found += _removed(tree, layout, nodes)
    found.sort(key=lambda c: (c.start, c.end))
    found = list(dict.fromkeys(found))
    for one, two in pairwise(found):
        if two.start < one.end or (one.start == two.start):
            raise Overlap
    return found


def apply(text: str, made: Sequence[Change]) -> str:
    """Return the text with these changes, which are in order and do not overlap."""
    parts, at = [], 0
    for change in made:
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def _line_of(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """Return the line of a small statement that stands alone in it, and otherwise the statement."""
    above = tree.parent(node)
    return above if isinstance(above, cst.SimpleStatementLine) and len(above.body) == 1 else node


def _is_elif(tree: Tree, node: cst.If) -> bool:
    above = tree.parent(node)
    return isinstance(above, cst.If) and above.orelse is node


def _replaced(layout: Layout, node: cst.CSTNode, new: str) -> Change:
    start, end = layout.code(node)
    if isinstance(node, cst.BaseCompoundStatement):
        end = layout.end(node)
    before, after = layout.text[start - 1 : start], layout.text[end : end + 1]
    left = " " if _joins(before) and _joins(new[:1], "\"'") else ""
    right = " " if _joins(new[-1:]) and _joins(after, "\"'") else ""
    return Change(start, end, f"{left}{new}{right}")


def _joins(character: str, also: str = "") -> bool:
    """Tell whether a character would run into a name beside it."""
    return character.isalnum() or character == "_" or (bool(character) and character in also)


def _removed(tree: Tree, layout: Layout, nodes: list[cst.CSTNode]) -> list[Change]:
    holder: Any = tree.parent(nodes[0])
    if isinstance(nodes[0], cst.Else):
        return [Change(layout.line_start(layout.code(nodes[0])[0]), layout.whole(nodes[0])[1], "")]
    if isinstance(nodes[0], _STATEMENTS):
        return _lines(tree, layout, nodes, holder)
    every = _listed_in(holder, nodes[0])
    taken = {id(n) for n in nodes}
    if len(taken) == len(every) and isinstance(nodes[0], _SIMPLE):  # all of one line with semicolons
        line = holder if isinstance(holder, cst.SimpleStatementLine) else None
        if line is not None:
            return _removed(tree, layout, [line])
        return [Change(layout.code(every[0])[0], layout.code(every[-1])[1], "pass")]
    found = []
    at = 0
    while at < len(every):
        if id(every[at]) not in taken:
            at += 1
            continue
        last = at
        while last + 1 < len(every) and id(every[last + 1]) in taken:
            last += 1
        found.append(_run(layout, every, at, last))
        at = last + 1
    return found


def _listed_in(holder: Any, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    for name in ("names", "elements", "args", "params", "body"):
        value = getattr(holder, name, None)
        if isinstance(value, tuple | list) and any(one is node for one in value):
            return value
    raise Overlap


def _run(layout: Layout, every: Sequence[Any], first: int, last: int) -> Change:
    """Take some neighbours out of a list; where they are the last ones, the comma before them goes."""
    if last + 1 < len(every):
        return Change(_begin(layout, every[first]), _begin(layout, every[last + 1]), "")
    start = _end(layout, every[first - 1]) if first else _begin(layout, every[first])
    return Change(start, _end(layout, every[last]), "")


def _begin(layout: Layout, node: cst.CSTNode) -> int:
    return layout.code(node)[0] if isinstance(node, _SIMPLE) else layout.whole(node)[0]


def _end(layout: Layout, node: Any) -> int:
    """Return where an element ends, before its comma or semicolon."""
    if isinstance(node, _SIMPLE):
        return layout.code(node)[1]
    comma = getattr(node, "comma", None)
    if isinstance(comma, cst.Comma):
        return layout.whole(comma)[0]
    start, end = layout.whole(node)
    return start + len(layout.text[start:end].rstrip())


def _lines(tree: Tree, layout: Layout, nodes: list[cst.CSTNode], holder: Any) -> list[Change]:
    taken = {id(n) for n in nodes}
    empty = not isinstance(holder, cst.Module) and all(id(n) in taken for n in holder.body)
    found = []
    for node in nodes:
        start = layout.code(node)[0]
        if empty and node is nodes[-1]:
            found.append(Change(start, layout.end(node), "pass"))
        else:
            begins = layout.line_start(start)
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                begins = _after_code(layout.text, begins)
            found.append(Change(begins, layout.whole(node)[1], ""))
    return found


def _after_code(text: str, at: int) -> int:
    """Return where the empty lines above a line begin: they part a definition from what stands before it."""
    while at and text[text.rfind("\n", 0, at - 1) + 1 : at].strip() == "":
        at = text.rfind("\n", 0, at - 1) + 1
    return at
