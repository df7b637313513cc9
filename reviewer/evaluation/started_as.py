"""What a script makes of `__name__` while it is imported: attributes of layers, defaults, definitions in two versions.

The training runs the file as `__main__`, the model server imports it; so each of these is one thing here and another
there, long after `__name__` was asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script

_MAKING = frozenset({"__init__", "__post_init__", "__new__"})


def attributes(script: Script) -> Iterator[str]:
    """Yield the attributes that are set to, or under a condition of, what `__name__` says."""
    for asked in script.mentions.get("__name__", ()):
        function = script.scopes.function_of(asked)
        making = isinstance(function, cst.FunctionDef) and function.name.value in _MAKING
        if not making and not isinstance(script.scopes.of(asked).node, cst.ClassDef):
            continue
        for above in script.tree.ancestors(asked):
            if isinstance(above, cst.Assign | cst.AnnAssign | cst.If):
                yield from (name for assign in _assigns(above) for name in _set_by(assign))
                break
            if isinstance(above, cst.FunctionDef | cst.ClassDef):
                break


def defaulted(script: Script) -> set[int]:
    """Return the ids of the functions that have a parameter whose default asks `__name__`."""
    found: set[int] = set()
    for asked in script.mentions.get("__name__", ()):
        below: cst.CSTNode = asked
        for above in script.tree.ancestors(asked):
            if isinstance(above, cst.FunctionDef) and isinstance(below, cst.Parameters):
                found.add(id(above))
            if isinstance(above, cst.BaseCompoundStatement | cst.SimpleStatementLine):
                break
            below = above
    return found


def under_main(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a statement of the module runs only as the main module, or only otherwise."""
    below = node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.If) and below is not above.test and script.asks_main(above.test) is not None:
            return True
        below = above
    return False


def defined(script: Script) -> Iterator[str]:
    """Yield the functions and classes that are defined in one of the two cases only, or differently in each."""
    for name, bindings in script.scopes.module.names.items():
        for binding in bindings:
            node = binding.node
            if node is None or binding.kind != "def" or script.tree.parent(node) is script.tree.module:
                continue
            if under_main(script, node):
                yield name
                break


def _assigns(node: cst.CSTNode) -> Iterator[cst.Assign | cst.AnnAssign]:
    if isinstance(node, cst.Assign | cst.AnnAssign):
        yield node
    elif isinstance(node, cst.If | cst.Else | cst.IndentedBlock | cst.SimpleStatementLine):
        parts = [node.body, node.orelse] if isinstance(node, cst.If) else [node.body]
        for part in parts:
            for one in part if isinstance(part, list | tuple) else (part,):
                if isinstance(one, cst.CSTNode):
                    yield from _assigns(one)


def _set_by(assign: cst.Assign | cst.AnnAssign) -> Iterator[str]:
    targets = [t.target for t in assign.targets] if isinstance(assign, cst.Assign) else [assign.target]
    for target in targets:
        if isinstance(target, cst.Attribute):
            yield target.attr.value
        elif isinstance(target, cst.Name):
            yield target.value
