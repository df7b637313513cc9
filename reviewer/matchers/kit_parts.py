"""Uses of the kit's inner parts: names with an underscore in front, which are no part of what scripts may build on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script

_KIT = "prepare"
_CHANGING = frozenset({
    "update", "pop", "popitem", "clear", "setdefault", "append", "extend", "insert", "remove", "add", "__setitem__",
    "__delitem__", "__ior__", "sort", "reverse", "discard",
})  # fmt: skip
_READING = frozenset(
    {"prepare._read_tokens", "prepare._rows", "prepare._files", "prepare._path"}
)  # D304 speaks of these


def find_parts(script: Script) -> Iterator[tuple[cst.CSTNode, str, bool]]:
    """Yield each use with the part's dotted path, and whether it is changed there."""
    seen: set[int] = set()
    for node, path in _places(script):
        above = script.tree.parent(node)
        is_told = path in _READING and isinstance(above, cst.Call) and above.func is node
        if id(node) not in seen and not is_told:
            seen.add(id(node))
            yield node, path, _is_changed(script, node)


def _places(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    taken = {name: path for name, path in script.imports if _part(path)}
    for name, path in taken.items():
        for mention in script.mentions.get(name, ()):
            if path in script.values.paths(mention):
                alias = isinstance(script.tree.parent(mention), cst.ImportAlias | cst.AsName)
                yield script.tree.enclosing(mention, cst.ImportFrom) or mention if alias else mention, path
    for word in script.mentions:
        if word.startswith("_") and not word.endswith("__"):
            for mention in script.mentions[word]:
                above = script.tree.parent(mention)
                if (
                    isinstance(above, cst.Attribute)
                    and above.attr is mention
                    and _KIT in script.values.paths(above.value)
                ):
                    yield above, f"{_KIT}.{word}"
    reading: list[cst.CSTNode] = [call for _, call in script.calling(("builtins.getattr", "builtins.setattr"))]
    reading += [s for s in script.tree.of(cst.Subscript) if f"{_KIT}.__dict__" in script.values.paths(s.value)]
    for node in reading:
        if isinstance(node, cst.Call) and len(node.args) > 1 and _KIT in script.values.paths(node.args[0].value):
            name = script.values.constant(node.args[1].value)
            if isinstance(name, str) and _part(f"{_KIT}.{name}"):
                yield node, f"{_KIT}.{name}"
        yield from ((node, path) for path in script.values.paths(node) if _part(path))


def _part(path: str) -> bool:
    kit, _, name = path.partition(".")
    return kit == _KIT and name.startswith("_") and not name.startswith("__")


def _is_changed(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a part gets another value here, or something in it does."""
    if isinstance(node, cst.Call) and "builtins.setattr" in script.path_of(node):
        return True
    above = script.tree.parent(node)
    while isinstance(above, cst.Subscript | cst.Attribute) and above.value is node:
        node, above = above, script.tree.parent(above)
    if isinstance(above, cst.Call) and above.func is node and isinstance(node, cst.Attribute):
        return node.attr.value in _CHANGING
    if isinstance(above, cst.AssignTarget | cst.Del):
        return True
    return isinstance(above, cst.AugAssign | cst.AnnAssign | cst.For) and above.target is node
