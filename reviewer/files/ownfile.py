"""Whether a path is that of the script itself, or of the kit."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.script import Script

_KIT = frozenset({"prepare.__file__", "prepare.__spec__.origin"})
_OWN = frozenset({"builtins.__file__", "__main__.__file__"})
_SAME = frozenset(
    ["pathlib.Path", "os.path.abspath", "os.path.realpath", "builtins.str", "os.fspath", "os.path.normpath"]
)
_NAME = "train.py"


def whose_file(script: Script, node: cst.BaseExpression) -> str:
    """Return whose file a path certainly is, where it is taken from what Python knows of itself."""
    for _ in range(4):
        known = set(script.values.paths(node))
        if known & _OWN or _is_command(script, node):
            return "The script itself"
        if known & _KIT:
            return "The kit"
        if not isinstance(node, cst.Call):
            return ""
        if node.args and _SAME.intersection(script.path_of(node)):
            node = node.args[0].value
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in ("resolve", "absolute"):
            node = node.func.value
        else:
            return ""
    return ""


def is_own_file(script: Script, call: cst.Call, node: cst.BaseExpression) -> Iterator[cst.CSTNode]:
    """Yield the place where a path of the script itself is used, or given to a helper that uses it."""
    for place, given in where_given(script, call, node):
        if given is not None and (
            whose_file(script, given) == "The script itself" or script.values.constant(given) == _NAME
        ):
            yield place


def _is_command(script: Script, node: cst.BaseExpression) -> bool:
    """Tell whether this is `sys.argv[0]`."""
    match node:
        case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            return "sys.argv" in script.values.paths(base) and script.values.constant(index) == 0
    return False
