"""Caches of constants that are made anew where inference mode has made them: nothing can be trained with those."""

from __future__ import annotations

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.evaluation.made_of import MadeOf
from reviewer.fold import names_in
from reviewer.matchers.attributes import Store
from reviewer.matchers.stored import stored
from reviewer.script import Script

_START = frozenset({"None", "True", "False"})


def refreshes_constants(script: Script, question: cst.CSTNode) -> bool:
    """Tell whether a question only decides to fill a cache once more, with the same numbers as before.

    All that stands under it sets attributes of the layer that are set nowhere else but to begin with, and what they
    are set to is made of shapes, types and settings, and of none of them.
    """
    block = script.tree.parent(question)
    if not isinstance(block, cst.If) or block.test is not question or block.orelse is not None:
        return False
    inside = [s for s in _all(block.body) if not isinstance(s, cst.With | cst.Pass)]
    if not all(isinstance(s, cst.Assign | cst.AnnAssign) for s in inside):
        return False
    names = {name for s in inside for target in _targets(s) if (name := _attribute(target))}
    made_of, kept = MadeOf(script.modelled), {id(s) for s in inside}
    home = script.tree.enclosing(question, cst.ClassDef)
    stores = [s for name in names for s in stored(script).get(name, ()) if _is_ours(script, s, home)]

    def is_same(store: Store) -> bool:
        if store.value is None or id(store.node) not in kept:
            return _starts(store.value)
        return not made_of.data(store.value) and not names & names_in(store.value)

    return bool(names) and all(map(is_same, stores))


def _is_ours(script: Script, store: Store, home: cst.ClassDef | None) -> bool:
    """Leave out what other layers set of themselves under the same name."""
    return getattr(store.base, "value", "") != "self" or script.tree.enclosing(store.node, cst.ClassDef) is home


def _all(body: cst.BaseSuite) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for statement in statements(body):
        found.append(statement)
        if isinstance(statement, cst.With):
            found += _all(statement.body)
    return found


def _targets(node: cst.CSTNode) -> list[cst.BaseExpression]:
    if isinstance(node, cst.Assign):
        return [t.target for t in node.targets]
    return [node.target] if isinstance(node, cst.AnnAssign) else []


def _attribute(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else ""


def _starts(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Integer) or (isinstance(node, cst.Name) and node.value in _START)
