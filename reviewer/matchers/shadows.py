"""Where a name that was imported is given another meaning in the same file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.dataflow.endings import ends
from reviewer.matchers.attributes import Store
from reviewer.matchers.stored import stored
from reviewer.scope import Binding
from reviewer.script import Script

_FAILING = frozenset({"builtins.ImportError", "builtins.ModuleNotFoundError"})
_TABLES = frozenset({"builtins.globals()", "builtins.vars()", "builtins.locals()"})


@dataclass(frozen=True)
class Shadow:
    """At `node`, the name that stands for the imported `path` becomes `value`; `binding` says how, where it is one."""

    node: cst.CSTNode
    name: str
    path: str
    value: cst.CSTNode | None
    binding: Binding | None = None


def imported(script: Script, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Return the names that imports bind to such paths, with the paths."""
    return {name: path for name, path in script.imports if wanted(path)}


def shadows(script: Script, names: dict[str, str]) -> Iterator[Shadow]:
    """Yield where one of these names is bound again, in any scope, by any statement or through `globals()`."""
    for scope in list(script.scopes.all()) if names else ():
        if isinstance(scope.node, cst.ClassDef):
            continue  # a member, not the name
        for name in names.keys() & scope.names.keys():
            for binding in scope.names[name]:
                if binding.kind != "ref" and binding.node is not None and not is_fallback(script, binding.node):
                    yield Shadow(binding.node, name, names[name], binding.node, binding)
    for name in sorted(names.keys() & stored(script).keys()) if names else ():
        for store in stored(script)[name]:
            if is_own_table(script, store):
                yield Shadow(store.node, name, names[name], store.value)


def is_own_table(script: Script, store: Store) -> bool:
    """Tell whether something is set among the names of this very file."""
    if store.by_key:
        return not _TABLES.isdisjoint(script.values.paths(store.base))
    match store.base:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value="__name__")))]):
            return "sys.modules" in script.values.paths(store.base.value)
    return "__main__" in script.values.paths(store.base)


def is_fallback(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this stands in for something that could not be imported."""
    handler = script.tree.enclosing(node, cst.ExceptHandler)
    if handler is None or handler.type is None or ends(script, handler.body):
        return False
    kinds = handler.type.elements if isinstance(handler.type, cst.Tuple) else [cst.Element(handler.type)]
    if not all(any(path in _FAILING for path in script.values.paths(kind.value)) for kind in kinds):
        return False
    attempt = script.tree.parent(handler)
    imports = script.tree.both(cst.Import, cst.ImportFrom)
    return any(script.tree.enclosing(one, cst.Try) is attempt for one in imports)
