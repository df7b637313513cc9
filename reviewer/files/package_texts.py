"""The text that installed packages carry: their documentation, English of the kind that corpora are made of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script
from reviewer.values import Own

_GOING_THROUGH = (
    "builtins.vars", "builtins.dir", "inspect.getmembers", "pkgutil.walk_packages", "pkgutil.iter_modules",
    "sys.modules.values", "sys.modules.items", "inspect.getmembers_static",
)  # fmt: skip
_ASKING = ("pydoc.render_doc", "pydoc.getdoc", "pydoc.plaintext.document", "inspect.getdoc", "builtins.help")


def find_package_texts(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield where such text is taken, with what it is taken of."""
    goes_through = any(path in script.called for path in _GOING_THROUGH)
    for node, of in _asked(script):
        if whose := _foreign(script, of, goes_through):
            yield node, whose


def _asked(script: Script) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """Yield where documentation is asked for, and of what."""
    for mention in script.mentions.get("__doc__", ()):
        above = script.tree.parent(mention)
        if isinstance(above, cst.Attribute) and above.attr is mention and not _is_set(script, above):
            yield above, above.value
    for _, call in script.calling(("builtins.getattr",)):
        if len(call.args) > 1 and script.values.constant(call.args[1].value) == "__doc__":
            yield call, call.args[0].value
    yield from ((call, call.args[0].value) for _, call in script.calling(_ASKING) if call.args)


def _foreign(script: Script, node: cst.BaseExpression, goes_through: bool) -> str:
    """Return what somebody else's thing is called; nothing where it is the script's own, or not known."""
    values = script.values.of(node)
    if any(isinstance(v, Own) for v in values):
        return ""
    paths = [v.path for v in values if not isinstance(v, Own)]
    known = [p for p in paths if p.partition(".")[0] not in ("builtins", "__main__", "prepare")]
    if known:
        return known[0]
    return "every part of a module" if goes_through and isinstance(node, cst.Name) else ""


def _is_set(script: Script, attribute: cst.Attribute) -> bool:
    """Tell whether a docstring is given or handed to another function, as decorators do."""
    above = script.tree.parent(attribute)
    if isinstance(above, cst.AssignTarget | cst.AugAssign):
        return True
    target = above.targets[0].target if isinstance(above, cst.Assign) else None
    return isinstance(target, cst.Attribute) and target.attr.value == "__doc__"
