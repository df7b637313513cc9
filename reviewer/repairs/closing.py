"""Takes a test whose answer is known out of a script, with the arm that is never run."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from reviewer.found import Edit
from reviewer.repairs.bracketing import bracketed
from reviewer.script import Script


def closed(script: Script, node: cst.If, answer: bool) -> Sequence[Edit]:
    """Return what becomes of an `if` or `elif` that is always, or never, true."""
    layout = script.layout
    above = script.tree.parent(node)
    is_elif = isinstance(above, cst.If) and above.orelse is node
    if not answer and node.orelse is None:
        return (Edit(node, ""),)
    if not answer and isinstance(node.orelse, cst.Else) and not is_elif:
        return (Edit(node, unfolded(script, node, node.orelse.body)),)
    if not answer and node.orelse is not None:
        start, end = layout.code(node.orelse)[0], layout.end(node.orelse)
        rest = layout.text[start:end]
        return (Edit(node, rest if is_elif else rest.removeprefix("el")),)
    if is_elif:
        colon = layout.text.index(":", layout.code(node.test)[1])
        return (Edit(node, "else" + layout.text[colon : layout.end(node.body)]),)
    return (Edit(node, unfolded(script, node, node.body)),)


def unfolded(script: Script, node: cst.BaseStatement, block: cst.BaseSuite) -> str:
    """Return the statements of a block as they stand in the place of the statement around it."""
    texts = (*script.tree.of(cst.SimpleString), *script.tree.of(cst.FormattedString))
    start, end = script.layout.whole(block)
    kept = [place for place in map(script.layout.whole, texts) if start <= place[0] < end]
    return script.layout.body(block, script.layout.indent(node), [p for p in kept if "\n" in script.text[p[0] : p[1]]])


def closed_arm(script: Script, node: cst.IfExp, answer: bool) -> Sequence[Edit]:
    """Return what becomes of `a if TEST else b`."""
    return (Edit(node, bracketed(script, node, node.body if answer else node.orelse)),)
