"""Names that a script binds and never mentions again: imports, constants, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.scope import dotted
from reviewer.script import Script

Unused = tuple[Literal["import", "constant", "function"], str, cst.CSTNode]

_EVERY_NAME = ("globals", "locals", "vars", "exec", "eval", "__import__", "__dict__")
_ASKED_FOR = frozenset({"load_for_eval", "main", "__getattr__", "__dir__"})  # by the platform, or by Python
_PURE = ("functools.partial", "os.", "operator.")


def unused(script: Script) -> Iterator[Unused]:
    """Yield what is bound and never mentioned; nothing where names may be looked up as texts."""
    if not script.mentions.keys().isdisjoint(_EVERY_NAME):
        return
    found = [*_imports(script), *_constants(script), *_functions(script)]
    if found:
        words = _words(script)
        yield from (one for one in found if one[1] not in words)


def _words(script: Script) -> set[str]:
    """Return the words of the texts that may name something: quoted types, `__all__`, keys of a registry."""
    words: set[str] = set()
    for text in script.tree.of(cst.SimpleString):
        if len(text.value) < 80 and not isinstance(script.tree.parent(text), cst.Expr):
            words.update(re.findall(r"\w+", text.value))
    return words


def _imports(script: Script) -> Iterator[Unused]:
    for node in script.tree.both(cst.Import, cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar) or _is_optional(script, node):
            continue
        if isinstance(node, cst.ImportFrom) and node.module is not None and dotted(node.module) == "__future__":
            continue
        for alias in node.names:
            named = alias.asname.name if alias.asname is not None else alias.name
            name = dotted(named).partition(".")[0]
            kept = alias.asname is not None and name == dotted(alias.name)  # `import a as a` hands it on
            if not kept and all(_in_import(script, use) for use in script.mentions.get(name, ())):
                every = len(node.names) == 1
                yield "import", name, node if every else alias


def _is_optional(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether an import is an attempt, or is there for a type checker."""
    return any(isinstance(a, cst.Try | cst.TryStar | cst.With | cst.If) for a in script.tree.ancestors(node))


def _in_import(script: Script, name: cst.Name) -> bool:
    """Tell whether a name stands in an import, which is no use of it."""
    for above in script.tree.ancestors(name):
        if isinstance(above, cst.ImportAlias):
            return True
        if not isinstance(above, cst.Attribute | cst.AsName):
            return isinstance(above, cst.ImportFrom)
    return False


def _constants(script: Script) -> Iterator[Unused]:
    for node in script.tree.both(cst.Assign, cst.AnnAssign):
        if isinstance(node, cst.Assign):
            target: Any = node.targets[0].target if len(node.targets) == 1 else None
        else:
            target = node.target
        if type(target) is not cst.Name or node.value is None or target.value.startswith("__"):
            continue
        mentioned = script.mentions[target.value]
        if len(mentioned) > 1 or isinstance(script.scopes.of(node).node, cst.ClassDef):
            continue
        if _is_pure(script, node.value):
            kind: Literal["constant", "function"] = "function" if isinstance(node.value, cst.Lambda) else "constant"
            yield kind, target.value, node


def _is_pure(script: Script, value: cst.BaseExpression) -> bool:
    """Tell whether working a value out does nothing else."""
    if isinstance(value, cst.Lambda) or script.values.constant(value) is not UNKNOWN:
        return True
    if isinstance(value, cst.Name | cst.Attribute):
        return any(path.startswith(_PURE) for path in script.values.paths(value))
    return isinstance(value, cst.Call) and script.path_of(value) == ["functools.partial"]


def _functions(script: Script) -> Iterator[Unused]:
    for node in script.tree.of(cst.FunctionDef):
        name = node.name.value
        if node.decorators or name in _ASKED_FOR or name.startswith("__"):
            continue
        if isinstance(script.scopes.of(node).node, cst.ClassDef) and not name.startswith("_"):
            continue  # what it inherits from may call it
        if all(use is node.name or node in script.tree.ancestors(use) for use in script.mentions[name]):
            yield "function", name, node
