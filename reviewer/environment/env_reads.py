"""Finds every use of the environment in a script, and follows helpers to where they are called."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.environment.env_keys import Keys, Read
from reviewer.script import Script
from reviewer.values import ENVIRON, ENVIRONMENT_NAMES, IMPORTERS, Ref

_KEYED = frozenset(f"{ENVIRON}.{m}" for m in ("get", "pop", "setdefault", "__getitem__", "__contains__")) | {
    "os.getenv"
}
_WRITES = frozenset(f"{ENVIRON}.{m}" for m in ("update", "clear", "__setitem__", "__delitem__")) | {
    "os.putenv",
    "os.unsetenv",
}
_METHODS = _KEYED | _WRITES
_MEMBER = f"{ENVIRON}."
_OWN_NAMES = ENVIRONMENT_NAMES | {"putenv", "unsetenv"}
_METHOD_NAMES = frozenset(m.rsplit(".", 1)[1] for m in _METHODS) | {
    "items",
    "keys",
    "values",
    "copy",
    "popitem",
    "__iter__",
}
_HANDING_OUT = frozenset(
    ["getattr", "partial", "copy", "vars", "globals", "locals", "__getattribute__"]
    + [path.rsplit(".", 1)[-1] for path in IMPORTERS]
)
_WAYS = IMPORTERS | {"sys.modules", "functools.partial", "operator.attrgetter"}
_WAYS |= {"builtins.globals()", "builtins.locals()", "builtins.vars()"}


_FOUND: WeakKeyDictionary[Script, list[Read]] = WeakKeyDictionary()


def find_reads(script: Script) -> list[Read]:
    """Return every use of the environment; a read in a helper stands at the helper's calls."""
    if script not in _FOUND:
        _FOUND[script] = list(_found(script))
    return _FOUND[script]


def _found(script: Script) -> Iterator[Read]:
    if not any(_may_matter(script)):
        return
    keys = Keys(script)
    for read in _reads(script):
        yield from keys.of(read) if read.kind == "key" else (read,)


def _reads(script: Script) -> Iterator[Read]:
    for node in _candidates(script):
        values = script.values.of(node)
        if any(isinstance(v, Ref) and v.path == ENVIRON for v in values):
            yield from _used(script, node)
        if any(isinstance(v, Ref) and (v.path in _METHODS or _is_member(v.path)) for v in values):
            yield from _method(script, node)


def _candidates(script: Script) -> Iterator[cst.CSTNode]:
    """Yield the expressions that can stand for the environment; resolving all of them would cost too much.

    A name or member can if anything that is bound to it anywhere does; a call can if it calls such a name, or one of
    the few functions that hand out parts of a module.
    """
    tree, suspects = script.tree, _suspects(script)
    starred = any(scope.stars for scope in script.scopes.all())
    mentions = script.mentions
    for word in suspects | _OWN_NAMES if starred else suspects:
        yield from mentions.get(word, ())
    for word in suspects | _OWN_NAMES | _METHOD_NAMES:
        for mention in mentions.get(word, ()):
            above = tree.parent(mention)
            if isinstance(above, cst.Attribute) and above.attr is mention:
                yield above
    for call in tree.of(cst.Call):
        name = getattr(getattr(call.func, "attr", call.func), "value", None)
        if not isinstance(name, str) or name in suspects or name in _HANDING_OUT:
            yield call
    for subscript in tree.of(cst.Subscript):
        base = subscript.value
        name = getattr(getattr(base, "attr", base), "value", None)
        if not isinstance(name, str) or name in suspects or name in ("__dict__", "modules", "__builtins__"):
            yield subscript
    for cls in (cst.NamedExpr, cst.IfExp, cst.BooleanOperation):  # `(os.environ or {})["LR"]`
        yield from tree.of(cls)


def _suspects(script: Script) -> set[str]:
    """Return the names that stand for the environment, for a way to it, or for a function that hands it out."""
    found = set()
    for name, bindings in script.scopes.everything():
        for value in script.values.bound(bindings):
            if isinstance(value, Ref):
                suspicious = value.path.startswith((ENVIRON, "os.getenv", "os.putenv", "os.unsetenv"))
                suspicious = suspicious or value.path in _WAYS or value.path.endswith("__dict__")
                # Of built-ins the functions themselves; what `int()` or `len()` gave leads nowhere.
                suspicious = suspicious or (value.path.startswith("builtins.") and not value.path.endswith(")"))
            else:
                returned = script.scopes.returns.get(id(value.node), ())
                suspicious = any(p.startswith(ENVIRON) for r in returned for p in script.values.paths(r))
            if suspicious:
                found.add(name)
                break
    return found


def _is_member(path: str) -> bool:
    """Tell whether this is a method of the environment, and not something that a read gave."""
    return path.startswith(_MEMBER) and "(" not in path


def _may_matter(script: Script) -> Iterator[bool]:
    """Tell cheaply whether the script can get at the environment at all: it needs `os`, or a way to import it."""
    text = script.text
    yield any(word in text for word in ("environ", "getenv", "putenv", "getattr", "vars(", "__dict__", "import_module"))
    yield any(word in text for word in ("__import__", "attrgetter", "modules", "globals(", "__getattribute__"))
    yield any(word in text for word in ("locate", "resolve_name"))


def _used(script: Script, node: cst.CSTNode) -> Iterator[Read]:
    """Look at what is done with the environment itself."""
    parent = script.tree.parent(node)
    match parent:
        case cst.Attribute() if parent.value is node and parent.attr.value not in _METHOD_NAMES:
            yield Read(parent, "whole")  # `os.environ._data`, `os.environ.__or__`
        case cst.Attribute() | cst.AsName() | cst.AssignTarget() | cst.ImportAlias() | cst.Param() | cst.Expr():
            return
        case cst.NameItem():
            return  # of `global` and `nonlocal`
        case cst.Assign() | cst.NamedExpr() | cst.IfExp() | cst.BooleanOperation() | cst.Return() | cst.Del():
            return  # the name, or the larger expression, is looked at in its own right
        case cst.AnnAssign() if parent.annotation is not node:
            return
        case cst.Lambda() if parent.body is node:
            return
        case cst.If() | cst.UnaryOperation() | cst.While():
            return  # whether it is empty says nothing
        case cst.Subscript() if parent.value is node:
            yield from _subscript(script, parent)
        case cst.ComparisonTarget():
            yield from _membership(script, node, parent)
        case cst.Element() if _only_unpacked(script, parent):
            return
        case cst.Arg() if parent.keyword is node or _handled(script, parent):
            return
        case cst.FunctionDef() | cst.ClassDef():
            return  # a function that happens to have this name
        case _:
            yield Read(_whole(script, node), "whole")


def _whole(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    parent = script.tree.parent(node)
    return node if isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or parent is None else parent


def _handled(script: Script, arg: cst.Arg) -> bool:
    """Tell whether this argument belongs to a `getattr`, `vars` or the like that is looked at as a whole."""
    call = script.tree.parent(arg)
    return isinstance(call, cst.Call) and "builtins.getattr" in script.path_of(call) and bool(script.values.of(call))


def _only_unpacked(script: Script, element: cst.Element) -> bool:
    group = script.tree.parent(element)
    above = script.tree.parent(group) if group is not None else None
    return isinstance(group, cst.Tuple) and isinstance(above, cst.Assign | cst.AssignTarget)


def _subscript(script: Script, node: cst.Subscript) -> Iterator[Read]:
    index = node.slice[0].slice if node.slice else None
    key = index.value if isinstance(index, cst.Index) else None
    parent = script.tree.parent(node)
    written = isinstance(parent, cst.AssignTarget | cst.Del) or (
        isinstance(parent, cst.AnnAssign) and parent.target is node
    )
    if written:
        yield Read(node, "write", key)
    else:
        yield Read(node, "key", key)


def _membership(script: Script, node: cst.CSTNode, target: cst.ComparisonTarget) -> Iterator[Read]:
    comparison = script.tree.parent(target)
    if isinstance(comparison, cst.Comparison) and isinstance(target.operator, cst.In | cst.NotIn):
        yield Read(comparison, "key", comparison.left)
    elif not isinstance(target.operator, cst.Is | cst.IsNot):
        yield Read(node, "whole")


def _method(script: Script, node: cst.CSTNode) -> Iterator[Read]:
    """Look at a method of the environment: called, given to `partial`, or handed on."""
    parent = script.tree.parent(node)
    paths = script.values.paths(node)
    if isinstance(parent, cst.Call) and parent.func is node:
        if f"{ENVIRON}.copy" in paths:
            return  # the copy is looked at like the original
        given = _partial_args(script, node)
        args = [*given, *(a for a in parent.args if not a.star)]
        if args and any(p in _KEYED for p in paths):
            yield Read(parent, "key", args[0].value, args[1].value if len(args) > 1 else None)
        elif all(p in _WRITES for p in paths):
            yield Read(parent, "write")
        else:
            yield Read(parent, "whole")
    elif isinstance(parent, cst.Arg) and not any(p in _WRITES for p in paths):
        call = script.tree.parent(parent)
        is_partial = isinstance(call, cst.Call) and "functools.partial" in script.path_of(call)
        if parent.keyword is not node and not is_partial:
            yield Read(node, "whole")
    elif isinstance(parent, cst.Element | cst.DictElement | cst.Yield | cst.Decorator):
        yield Read(node, "whole")


def _partial_args(script: Script, node: cst.CSTNode) -> list[cst.Arg]:
    """Return what a `partial(os.environ.get, …)` has put in before, if the called name comes from one."""
    bindings = script.scopes.of(node).find(node.value) if isinstance(node, cst.Name) else ()
    makers = [b.node for b in bindings] if bindings else [node]
    for maker in makers:
        if isinstance(maker, cst.Call) and "functools.partial" in script.path_of(maker):
            return list(maker.args[1:])
    return []
