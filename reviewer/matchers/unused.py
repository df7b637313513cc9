"""Names that a script binds and never mentions again: imports, constants, functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from typing import Any, Literal
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.scope import dotted
from reviewer.script import Script

Unused = tuple[Literal["import", "constant", "function"], str, cst.CSTNode]

_EVERY_NAME = ("globals", "locals", "vars", "exec", "eval")
_ASKED_FOR = frozenset({"load_for_eval", "main", "__getattr__", "__dir__"})  # by the platform, or by Python
_QUIET = frozenset({"prepare", "numpy", "wandb", "tqdm", "rich", "yaml", "dotenv"})  # loading these changes no training
_PURE = ("functools.partial", "os.", "operator.")
_DTYPE = re.compile(r"(?:torch|numpy)\.(?:u?int\d*|b?float\w*|half|double|bool_?|long|short|complex\d*)")


def unused(script: Script) -> Iterator[Unused]:
    """Yield what is bound and never mentioned; nothing where names may be looked up as texts."""
    if looks_up_names(script):
        return
    found = [*_imports(script), *_constants(script), *_functions(script)]
    if found:
        words = texts_naming(script)
        yield from (one for one in found if one[1] not in words)


def looks_up_names(script: Script) -> bool:
    """Tell whether names may be bound or read where nobody sees it, as by `exec`, but not by `model.eval()`."""
    if script not in _LOOKS_UP:
        _LOOKS_UP[script] = _looks_up(script)
    return _LOOKS_UP[script]


_LOOKS_UP: WeakKeyDictionary[Script, bool] = WeakKeyDictionary()


def _looks_up(script: Script) -> bool:
    for word in _EVERY_NAME:
        for name in script.mentions.get(word, ()):
            above = script.tree.parent(name)
            of_one = word == "vars" and isinstance(above, cst.Call) and bool(above.args)
            if not isinstance(above, cst.Attribute | cst.FunctionDef) and not of_one:
                return True
    return False


def texts_naming(script: Script, but: Collection[int] = ()) -> set[str]:
    """Return the words of the texts that may name something: quoted types, `__all__`, keys of a registry.

    Texts whose ids are in `but` are left out.
    """
    words: set[str] = set()
    for text in script.tree.of(cst.SimpleString):
        if len(text.value) < 80 and id(text) not in but and not isinstance(script.tree.parent(text), cst.Expr):
            words.update(re.findall(r"\w+", text.value))
    return words


def _imports(script: Script) -> Iterator[Unused]:
    only_imported: dict[str, bool] = {}
    for node in script.tree.both(cst.Import, cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar) or _is_optional(script, node):
            continue
        if isinstance(node, cst.ImportFrom) and node.module is not None and dotted(node.module) == "__future__":
            continue
        for alias in node.names:
            named = alias.asname.name if alias.asname is not None else alias.name
            name = dotted(named).partition(".")[0]
            kept = alias.asname is not None and name == dotted(alias.name)  # `import a as a` hands it on
            if not kept and name not in only_imported:
                only_imported[name] = all(_in_import(script, use) for use in script.mentions.get(name, ()))
            if not kept and only_imported[name]:
                every = len(node.names) == 1
                yield "import", name, node if every else alias


def can_go(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether an import that nobody uses does nothing else: some modules register things when they are loaded."""
    if not isinstance(node, cst.Import | cst.ImportFrom):
        return True  # one name of several
    if isinstance(node, cst.ImportFrom):
        names = [dotted(node.module)] if node.module is not None and not node.relative else [""]
    else:
        names = [dotted(alias.name) for alias in node.names]
    roots = {name.partition(".")[0] for name in names}
    others = {path for other, path in script.imports if path.partition(".")[0] in roots}
    return all(root in _QUIET or root in sys.stdlib_module_names for root in roots) or len(others) > 1


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
        return any(path.startswith(_PURE) or _DTYPE.fullmatch(path) for path in script.values.paths(value))
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
