"""The files that a script writes, by name where that is a constant."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.script import Script

# Where the file's name stands: position and keyword.
_WRITERS: dict[str, tuple[int, str]] = {
    "torch.save": (1, "f"),
    "torch.jit.save": (1, "f"),
    "safetensors.torch.save_file": (1, "filename"),
    "safetensors.torch.save_model": (1, "filename"),
    "numpy.save": (0, "file"),
    "numpy.savez": (0, "file"),
    "numpy.savez_compressed": (0, "file"),
    "mlx.core.save": (0, "file"),
    "mlx.core.savez": (0, "file"),
    "os.replace": (1, "dst"),
    "os.rename": (1, "dst"),
    "os.link": (1, "dst"),
    "shutil.move": (1, "dst"),
    "shutil.copy": (1, "dst"),
    "shutil.copy2": (1, "dst"),
    "shutil.copyfile": (1, "dst"),
}
# Methods that write somewhere; where, is not followed.
_METHODS = frozenset([
    "save", "save_file", "save_model", "save_pretrained", "save_checkpoint", "save_state", "async_save",
    "write_bytes", "tofile", "rename", "replace", "fdopen", "open",
])  # fmt: skip


def find_writes(script: Script) -> Iterator[tuple[cst.Call, str | None]]:
    """Yield the calls that write a file, with its name where that is a constant."""
    for path, call in script.calling(_WRITERS):
        position, keyword = _WRITERS[path]
        yield call, _name(script, _argument(call, position, keyword))
    for path, call in script.calling(("builtins.open", "io.open", "os.open", "gzip.open", "zipfile.ZipFile")):
        mode, name = _argument(call, 1, "mode"), _name(script, _argument(call, 0, "file"))
        if path == "os.open" or (_is_for_writing(script, mode) and (name or not _is_text(script, path, mode))):
            yield call, name
    known = {id(call) for _, call in script.calling(_WRITERS)}
    for attribute in script.tree.of(cst.Attribute):
        if attribute.attr.value not in _METHODS:
            continue
        method = script.tree.parent(attribute)
        if isinstance(method, cst.Call) and method.func is attribute and id(method) not in known:
            if attribute.attr.value == "replace" and len(method.args) != 1:
                continue  # of a text
            mode = _argument(method, 0, "mode")
            if attribute.attr.value == "open" and (not _is_for_writing(script, mode) or _is_text(script, "open", mode)):
                continue
            yield method, None


def _is_for_writing(script: Script, mode: cst.BaseExpression | None) -> bool:
    value = script.values.constant(mode)
    return isinstance(value, str) and bool(set(value) & set("wax+"))


def _is_text(script: Script, path: str, mode: cst.BaseExpression | None) -> bool:
    """Tell whether a file is opened for text, as logs are; a checkpoint is none."""
    return path in ("builtins.open", "io.open", "open") and "b" not in str(script.values.text(mode))


def _argument(call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
    named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == keyword), None)
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    return named if named is not None else positional[position] if position < len(positional) else None


def _name(script: Script, node: cst.BaseExpression | None, hops: int = 0) -> str | None:
    """Put a file's name together from constants, `os.path.join` and `Path`; None where only the run knows it."""
    value = script.values.constant(node)
    if value is not UNKNOWN:
        return value if isinstance(value, str) else None
    parts: Iterable[cst.BaseExpression] = ()
    if isinstance(node, cst.Name):
        bindings = script.scopes.of(node).find(node.value)
        inner = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "expr" else None
        return _name(script, inner, hops + 1) if isinstance(inner, cst.BaseExpression) and hops < 20 else None
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        parts = (node.left, node.right)
    elif isinstance(node, cst.Call) and not any(a.keyword or a.star for a in node.args):
        makers = ("os.path.join", "pathlib.Path", "pathlib.PurePath", "builtins.str", "os.fspath")
        parts = [a.value for a in node.args] if any(p in makers for p in script.path_of(node)) else ()
    names = [_name(script, part, hops + 1) for part in parts] if hops < 20 else []
    return posixpath.join(*(n for n in names if n is not None)) if names and None not in names else None
