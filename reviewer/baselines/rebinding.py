"""What else gives a meaning to names that a frozen section defines, or takes another meaning for names that it uses.

A section may stand as its baseline has it and yet not be what runs: a second definition, an assignment, an import, a
`del`, a `global` somewhere, a method put in its place, a text that is executed.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.scope import Binding, Scope, dotted
from reviewer.script import Script
from reviewer.values import canonical

_BUILTINS = frozenset(dir(builtins))
_READS = frozenset({"items", "keys", "values", "get", "copy", "__contains__"})
_CHANGES = frozenset([
    "append", "extend", "insert", "update", "setdefault", "pop", "popitem", "clear", "remove", "add", "discard", "sort",
    "reverse", "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__ior__", "__iadd__",
])  # fmt: skip
_BY_NAME = ("globals", "locals", "vars", "setattr", "delattr", "exec", "eval", "__dict__", "modules", "__main__")


@dataclass(frozen=True)
class Inside:
    """A section in its script: its statements, the names they bind, those that are classes, all that they mention."""

    statements: tuple[cst.CSTNode, ...]
    names: frozenset[str]
    classes: frozenset[str]
    functions: frozenset[str]
    used: frozenset[str]


Doubt = tuple[cst.CSTNode, str]  # where, and what is done there
Outside = Callable[[cst.CSTNode | None], bool]


def doubts(script: Script, inside: Inside, imports: dict[str, str]) -> Iterator[Doubt]:
    """Yield every place outside of the section that makes something else of it."""
    own = {id(statement) for statement in inside.statements}

    def outside(node: cst.CSTNode | None) -> bool:
        return node is None or id(_top(script, node)) not in own

    yield from _bound_again(script, inside, outside)
    yield from _used_otherwise(script, inside, imports, outside)
    yield from _shadowed(script, inside, outside)
    for name in sorted(inside.names):
        for mention in script.mentions.get(name, ()):
            if outside(mention) and (done := _done_to(script, mention, name in inside.classes | inside.functions)):
                yield mention, f"{done} `{name}`"
    yield from _by_text(script, inside, outside)
    from reviewer.matchers.frozen_objects import put_into  # it says what this module's names are for

    yield from put_into(script, inside, outside)


def _bound_again(script: Script, inside: Inside, outside: Outside) -> Iterator[Doubt]:
    module = script.scopes.module
    for name in sorted(inside.names):
        bindings = module.names.get(name, ())
        paths = {canonical(b.path) for b in bindings if b.kind == "ref"}
        if bindings and len(paths) == 1 and all(b.kind == "ref" for b in bindings):
            continue  # imported again, as the same
        for binding in bindings:
            if outside(binding.node):
                yield binding.node or script.tree.module, f"{_how(binding)} `{name}` again"
    body = [id(statement) for statement in script.tree.module.body]
    later = set(body[body.index(id(inside.statements[0])) :]) if inside.statements else set(body)
    for chosen in script.tree.of(cst.ImportFrom):
        star = isinstance(chosen.names, cst.ImportStar) and script.scopes.of(chosen) is module
        if star and outside(chosen) and id(_top(script, chosen)) in later:
            yield chosen, "imports names that are not written out"


def _used_otherwise(script: Script, inside: Inside, imports: dict[str, str], outside: Outside) -> Iterator[Doubt]:
    module = script.scopes.module
    for name, path in imports.items():
        bindings = module.names.get(name, ())
        if not bindings:
            yield script.tree.module, f"does not import `{name}`, which is `{path}` there,"
        for binding in bindings:
            if binding.kind != "ref" or canonical(binding.path) != canonical(path):
                yield binding.node or script.tree.module, f"makes `{name}`, which is `{path}` there, something else"
    for name in sorted(inside.used & _BUILTINS - inside.names - imports.keys()):
        for binding in module.names.get(name, ()):
            if outside(binding.node):
                yield binding.node or script.tree.module, f"gives the built-in `{name}` another meaning"


def _shadowed(script: Script, inside: Inside, outside: Outside) -> Iterator[Doubt]:
    """A local name hides a class or a function of the section from the code that would use it."""
    wanted = inside.classes | inside.functions
    for scope in list(script.scopes.all()):
        if scope.parent is None or isinstance(scope.node, cst.ClassDef) or not outside(scope.node):
            continue
        for name in sorted(wanted & scope.names.keys()):
            for binding in scope.names[name]:
                if name in inside.classes or binding.kind in ("def", "ref"):
                    yield _node(binding, scope), f"hides `{name}` behind a name of its own"
                    break


def _done_to(script: Script, name: cst.Name, whole: bool) -> str:
    """Say whether a mention of a name changes what it stands for, and how."""
    tree = script.tree
    node: cst.CSTNode = name
    above = tree.parent(node)
    if isinstance(above, cst.Attribute) and above.attr is node:
        return ""  # somebody else's attribute of that name
    while isinstance(above, cst.Attribute | cst.Subscript) and above.value is node:
        node, above = above, tree.parent(above)
        if isinstance(above, cst.Call) and above.func is node:
            changes = isinstance(node, cst.Attribute) and node.attr.value in _CHANGES
            return "changes" if changes and not whole else ""
    if isinstance(above, cst.Arg) and isinstance(call := tree.parent(above), cst.Call) and call.args[0] is above:
        paths = script.path_of(call)
        if any(p in ("builtins.setattr", "builtins.delattr", "builtins.type.__setattr__") for p in paths):
            return "puts something else into"
    while isinstance(above, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        node, above = above, tree.parent(above)
    if isinstance(above, cst.Del):
        return "deletes" if node is name else "takes something from"
    targets = {cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor}
    if node is not name and type(above) in targets and getattr(above, "target", None) is node:
        return "puts something else into"
    return "puts something else into" if isinstance(above, cst.AsName) and node is not name else ""


def _by_text(script: Script, inside: Inside, outside: Outside) -> Iterator[Doubt]:
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, [*sorted(inside.names), *_BY_NAME]))})\b")
    for _, call in script.calling(("builtins.exec", "builtins.eval")):
        text = script.values.constant(call.args[0].value) if call.args else UNKNOWN
        if outside(call) and not (isinstance(text, str) and not words.search(text)):
            yield call, "executes a text that may define it again"
    for _, call in script.calling(("builtins.globals", "builtins.vars", "builtins.locals")):
        if outside(call) and not call.args and not _only_read(script, call):
            yield call, "has the module's names at hand and may define them again"
    for name in ("modules", "import_module", "__import__"):
        for mention in script.mentions.get(name, ()):
            if outside(mention) and _is_this_module(script, mention):
                yield mention, "has the module itself at hand and may define its names again"
    for plain in script.tree.of(cst.Import):
        if outside(plain) and any(dotted(alias.name) == "__main__" for alias in plain.names):
            yield plain, "has the module itself at hand and may define its names again"


def _only_read(script: Script, call: cst.Call) -> bool:
    above = script.tree.parent(call)
    if isinstance(above, cst.Attribute):
        used = script.tree.parent(above)
        return above.attr.value in _READS and isinstance(used, cst.Call) and used.func is above
    if isinstance(above, cst.Subscript):
        held = script.tree.parent(above)
        return not (isinstance(held, cst.AssignTarget | cst.AugAssign | cst.Del | cst.Element | cst.AnnAssign))
    if isinstance(above, cst.Arg) and isinstance(made := script.tree.parent(above), cst.Call):
        return set(script.path_of(made)) <= {f"builtins.{n}" for n in ("dict", "list", "sorted", "set", "len")} != set()
    return isinstance(above, cst.ComparisonTarget)


def _is_this_module(script: Script, mention: cst.Name) -> bool:
    """Tell whether `sys.modules[…]` or an import by name may be of the script itself."""
    node: cst.CSTNode = mention
    above = script.tree.parent(node)
    if isinstance(above, cst.Attribute) and above.attr is node:
        node, above = above, script.tree.parent(above)
    key: cst.BaseExpression | None = None
    if isinstance(above, cst.Subscript) and isinstance(above.slice[0].slice, cst.Index):
        key = above.slice[0].slice.value
    elif isinstance(above, cst.Call) and above.func is node and above.args:
        key = above.args[0].value
    elif isinstance(above, cst.Attribute) and isinstance(call := script.tree.parent(above), cst.Call) and call.args:
        key = call.args[0].value
    if key is None or not any(p.startswith(("sys.", "importlib.", "builtins.")) for p in script.values.paths(node)):
        return False
    name = script.values.constant(key)
    return not isinstance(name, str) or name == "__main__"


def _how(binding: Binding) -> str:
    return {"def": "defines", "ref": "imports"}.get(binding.kind, "sets")


def _node(binding: Binding, scope: Scope) -> cst.CSTNode:
    return binding.node if binding.node is not None else scope.node


def _top(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    """Return the statement of the module that holds a node."""
    below = node
    for above in script.tree.ancestors(node):
        if above is script.tree.module:
            break
        below = above
    return below
