"""Words and names of files that stand for a held-out split."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.script import Script

SPLITS = frozenset([
    "val", "valid", "validation", "dev", "devel", "test", "eval", "heldout", "held_out", "held-out", "holdout",
    "public", "private",
])  # fmt: skip
FOLDERS = SPLITS - {"test", "eval", "public", "private"}
NAMES = frozenset({"split", "subset", "partition", "fold", "data_split"})
_KEYS = frozenset({"dev_file", "dev_files", "val_file", "val_files"})  # of the kit's constants, and of configurations
_WORD = r"(?:val|valid|validation|dev|devel|heldout|held_out|holdout)"
_ENDS = r"\.(?:bin|npy|npz|parquet|arrow|jsonl|tokens|dat|u16|zst|gz)"
_DATA = re.compile(
    rf"(?:^|[/_.\-*]){_WORD}(?:[/_.\-*\d]\S*)?\.(?:bin|npy|npz|parquet|arrow|jsonl|tokens|dat|u16|zst|gz)$"
)
_GLOB = re.compile(rf"(?:^|[/_.\-*]){_WORD}[/_.\-]?\*\S*$|(?:^|/)\*[_.\-]?{_WORD}[_.\-*]\S*$")
_TEXT = re.compile(rf"(?:^|/){_WORD}\.(?:txt|json|csv|pt)$")
_ANY = re.compile(rf"^(?!.*train)\S*[*?\[\x00]\S*{_ENDS}$")
_END = re.compile(rf"^\*?{_ENDS}$")
_OWN = re.compile(r"^(?:\./|\x01/|/\w+/)?out(?:/|$)|^/tmp(?:/|$)|(?:^|/)(?:cache|logs?|ckpts?|checkpoints?)(?:/|$)")
_WRITTEN = re.compile(
    r"^/dev/|^(?:\./|/\w+/)?out/|(?:^|[/_.\-])(?:loss(?:es)?|logs?|best|metrics?|ckpts?|checkpoints?|curves?)(?:[/_.\-]|\d|$)"
)


def constants(script: Script, node: cst.BaseExpression | None) -> list[str]:
    """Return the texts that an expression can be: one, or those of the loop that it is drawn from."""
    value = script.values.constant(node)
    if value is UNKNOWN and isinstance(node, cst.Name):
        bindings = script.scopes.of(node).find(node.value)
        drawn = len(bindings) == 1 and bindings[0].kind == "drawn"
        value = script.values.constant(bindings[0].node) if drawn else UNKNOWN
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str)]
    return [value] if isinstance(value, str) else []


def is_file(text: str) -> bool:
    if len(text) > 300 or _WRITTEN.search(text):
        return False
    return any(shape.search(text) for shape in (_DATA, _GLOB, _TEXT))


def is_key(value: object) -> bool:
    """Tell whether this is a key under which held-out files are known."""
    return isinstance(value, str) and value in _KEYS


def takes_any(pattern: str) -> bool:
    """Tell whether a pattern takes whatever data lie there, held-out ones as well."""
    return _ANY.search(pattern) is not None and not is_own(pattern)


def is_own(path: str) -> bool:
    """Tell whether a folder or a file is one that the run itself writes."""
    return _OWN.search(path) is not None


def is_ending(value: object) -> bool:
    """Tell whether a text is how the names of files of data end."""
    return isinstance(value, str) and _END.match(value) is not None


def is_used(script: Script, node: cst.SimpleString, value: str) -> bool:
    """Tell whether a plain word is a key of a file's name, a folder of a path, or the split of a table."""
    above = script.tree.parent(node)
    if isinstance(above, cst.DictElement) and above.value is node and value in SPLITS:
        return script.values.text(above.key) in NAMES
    if value in _KEYS:
        return isinstance(above, cst.Index | cst.Arg)
    if value not in FOLDERS:
        return False
    if isinstance(above, cst.BinaryOperation):
        return isinstance(above.operator, cst.Divide) and above.right is node
    call = script.tree.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0].value is node:
        return False
    first = script.values.constant(call.args[0].value)
    joins = any(p in ("os.path.join", "pathlib.Path", "pathlib.Path().joinpath") for p in script.path_of(call))
    return joins and not (isinstance(first, str) and _WRITTEN.search(f"{first}/") is not None)
