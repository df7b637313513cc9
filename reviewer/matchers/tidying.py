"""Whether a function only tidies up: closes, flushes, stops, frees."""

from __future__ import annotations

import libcst as cst

from reviewer.nodes import children
from reviewer.script import Script
from reviewer.values import Own

_WORDS = (
    "close shutdown join release free stop terminate cancel flush finish destroy_process_group cleanup clear "
    "empty_cache synchronize barrier print print0 log log0 info debug warning error is_initialized is_available "
    "is_alive isinstance hasattr getattr callable unlink remove rmtree rmdir exists detach disable collect set reset "
    "pop unregister suppress super __del__ __exit__ end_run teardown closed kill "
    "wait fsync fileno"
)
_TIDYING = frozenset(_WORDS.split())
_HOPS = 3


def only_tidies(script: Script, node: cst.CSTNode | None, hops: int = 0) -> bool:
    """Tell whether what is called here is known to do nothing but tidy up."""
    owns = [value.node for value in script.values.of(node) if isinstance(value, Own)]
    if isinstance(node, cst.FunctionDef):
        owns = [node]
    functions = [own for own in owns if isinstance(own, cst.FunctionDef | cst.Lambda)]
    if functions and hops < _HOPS:
        return all(_body_tidies(script, function, hops) for function in functions)
    name = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    known = {path.rpartition(".")[2] for path in script.values.paths(node)} or {name}
    return not owns and known <= _TIDYING


def _body_tidies(script: Script, function: cst.FunctionDef | cst.Lambda, hops: int) -> bool:
    todo: list[cst.CSTNode] = [function.body]
    while todo:
        node = todo.pop()
        script.budget.spend()
        if isinstance(node, cst.While):
            return False  # waits, or works on
        if isinstance(node, cst.Call) and not only_tidies(script, node.func, hops + 1):
            return False
        todo.extend(children(node))
    return True
