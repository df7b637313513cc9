"""What is put into the classes of a frozen section under other names, and into the objects that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from reviewer.baselines.rebinding import Doubt, Inside
from reviewer.dataflow.uses import taken
from reviewer.matchers.attributes import stores
from reviewer.script import Script
from reviewer.training.trained_model import class_of
from reviewer.values import Own

_ADDING = frozenset({"append", "extend", "insert", "pop", "add_module", "register_module", "__setitem__"})
_HOOKING = frozenset([
    "register_forward_hook", "register_forward_pre_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_parametrization", "register_buffer",
])  # fmt: skip


def put_into(script: Script, inside: Inside, outside: Callable[[cst.CSTNode | None], bool]) -> Iterator[Doubt]:
    """Yield each place outside of a section that changes one of its classes, or an object of one."""
    if not inside.classes:
        return
    parts = _parts(script, outside)
    for store in stores(script):
        if not outside(store.node) or store.by_key or store.name is None:
            continue
        if name := _is_class(script, inside, store.base):
            yield store.node, f"puts something else into `{name}`"
        elif store.name in parts and (name := _made_by(script, inside, store.base)):
            yield store.node, f"puts something else into what `{name}` makes"
    for word, attribute in taken(script, _ADDING | _HOOKING):
        held = attribute.value if isinstance(attribute, cst.Attribute) else attribute
        if outside(attribute) and (name := _made_by(script, inside, held)) and (word in _HOOKING or _is_part(held)):
            yield attribute, f"changes what `{name}` makes"


def _parts(script: Script, outside: Callable[[cst.CSTNode | None], bool]) -> set[str]:
    """Return the names that the section gives to the parts and the methods of its objects."""
    return {
        name
        for name, bindings in script.scopes.members.items()
        if any(b.node is not None and not outside(b.node) for b in bindings)
    }


def _is_part(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute | cst.Subscript)


def _is_class(script: Script, inside: Inside, node: cst.CSTNode) -> str:
    """Return the name of the section's class that this is under another name, `type(model)` and the like."""
    match node:
        case cst.Name(value=name) if name in inside.classes:
            return ""  # by its own name that is found anyway
        case cst.Attribute(value=base, attr=cst.Name(value="__class__")):
            return _made_by(script, inside, base)
        case cst.Call(args=[cst.Arg(value=base)]) if "builtins.type" in script.path_of(node):
            return _made_by(script, inside, base)
    classes = [v.node for v in script.values.of(node) if isinstance(v, Own) and isinstance(v.node, cst.ClassDef)]
    return next((c.name.value for c in classes if c.name.value in inside.classes), "")


def _made_by(script: Script, inside: Inside, node: cst.CSTNode) -> str:
    """Return the section's class of which this is an object, or a part of one."""
    while isinstance(node, cst.Attribute | cst.Subscript):
        node = node.value
    made = class_of(script, node)
    return made.name.value if made is not None and made.name.value in inside.classes else ""
