"""Settings from outside the file that are read for nothing: what they are bound to is never mentioned again."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.environment.env_reads import find_reads
from reviewer.fold import UNKNOWN
from reviewer.matchers.unused import looks_up_names, texts_naming
from reviewer.nodes import children
from reviewer.script import Script
from reviewer.values import Ref

# With these a class is gone through, and all that it has is used.
_LISTING = frozenset([
    "vars", "dir", "__dict__", "__annotations__", "asdict", "astuple", "fields", "_asdict", "get_type_hints",
    "getmembers", "model_dump", "__slots__", "attrgetter",
])  # fmt: skip
_BY_NAME = ("getattr", "setattr", "hasattr", "delattr")


def idle_knobs(script: Script) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield names that a value of the environment is bound to and that nothing uses, with where they are bound."""
    found: dict[str, cst.CSTNode] = {}
    for read in find_reads(script):
        bound = _bound(script, read.node) if read.kind == "key" else None
        if bound is not None and len(script.mentions[bound[0]]) == 1:
            found[bound[0]] = bound[1]
    if not found or looks_up_names(script) or _goes_through(script):
        return
    keys = {id(text) for node in found.values() for text in _texts(script, node)}  # `LR = os.environ["LR"]`
    words = texts_naming(script, keys)
    yield from ((name, node) for name, node in found.items() if name not in words)


def _texts(script: Script, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    todo = [node]
    while todo:
        one = todo.pop()
        script.budget.spend()
        if isinstance(one, cst.SimpleString):
            yield one
        todo.extend(children(one))


def _bound(script: Script, node: cst.CSTNode) -> tuple[str, cst.CSTNode] | None:
    """Return the one name that a statement binds to an expression with this in it."""
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.Lambda | cst.FunctionDef | cst.NamedExpr):
            return None
        if isinstance(above, cst.Assign):
            target = above.targets[0].target if len(above.targets) == 1 else None
            return (target.value, above) if isinstance(target, cst.Name) else None
        if isinstance(above, cst.AnnAssign):
            named = isinstance(above.target, cst.Name) and above.value is not None
            return (above.target.value, above) if named and isinstance(above.target, cst.Name) else None
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement):
            return None
    return None


def _goes_through(script: Script) -> bool:
    """Tell whether attributes may be read under names that nobody sees."""
    if not _LISTING.isdisjoint(script.mentions):
        return True
    for word in _BY_NAME:
        for name in script.mentions.get(word, ()):
            call = script.tree.parent(name)
            if not isinstance(call, cst.Call) or call.func is not name or len(call.args) < 2:
                return True
            foreign = any(isinstance(v, Ref) for v in script.values.of(call.args[0].value))
            if script.values.constant(call.args[1].value) is UNKNOWN and not foreign:
                return True
    return False
