"""Where a script takes whatever files of data it meets: a glob without the name of a split, a walk through folders."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.files.pathflow import Paths
from reviewer.files.paths import HOLE
from reviewer.files.splits import is_ending, is_file, is_own, takes_any
from reviewer.script import Script

_GLOBS = ("glob.glob", "glob.iglob")
_LISTS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk")
_ENDING = frozenset({"endswith", "fnmatch", "fnmatchcase", "filter"})


def gathering(script: Script) -> Iterator[cst.Call]:
    """Yield the calls that take all data of a folder that the script does not itself write."""
    paths = script.paths
    for _, call in script.calling(_GLOBS):
        taking = [t for t, _ in paths.of(call.args[0].value) if takes_any(t)] if call.args else []
        if taking and not all(is_file(text) and _is_named(script, text) for text in taking):
            yield call
    listing = [(call, call.args[0].value if call.args else None) for _, call in script.calling(_LISTS)]
    if "glob" in script.text or "iterdir" in script.text:
        for call in script.tree.of(cst.Call):
            if type(call.func) is not cst.Attribute or call.func.attr.value not in ("glob", "rglob", "iterdir"):
                continue
            if call.func.attr.value == "iterdir":
                listing.append((call, call.func.value))
            elif call.args and not any(path in _GLOBS for path in script.path_of(call)):
                pattern = script.values.constant(call.args[0].value)
                if isinstance(pattern, str) and takes_any(pattern) and not _is_own(paths, call.func.value):
                    yield call
    choosing = {id(script.scopes.function_of(text)) for text in _chosen(script)} if listing else set()
    for call, folder in listing:
        if id(script.scopes.function_of(call)) in choosing and not _is_own(paths, folder):
            yield call


def _is_named(script: Script, path: str) -> bool:
    """Tell whether the script writes this name of held-out files down, which is found where it stands."""
    for text in script.tree.of(cst.SimpleString):
        value = script.values.constant(text)
        if isinstance(value, str) and is_file(value) and path.endswith(value):
            return True
    return any(is_file(t.value) and path.endswith(t.value) for t in script.tree.of(cst.FormattedStringText))


def _is_own(paths: Paths, folder: cst.BaseExpression | None) -> bool:
    return folder is not None and all(text != HOLE and is_own(text) for text, _ in paths.of(folder))


def _chosen(script: Script) -> Iterator[cst.SimpleString]:
    """Yield the endings of files of data that names are compared with, where nothing else is asked of the name."""
    for text in script.tree.of(cst.SimpleString):
        if "." not in text.value or not is_ending(script.values.constant(text)):
            continue
        above = script.tree.parent(text)
        call = script.tree.parent(above) if isinstance(above, cst.Arg) else None
        method = call.func if isinstance(call, cst.Call) else None
        name = getattr(getattr(method, "attr", method), "value", "")
        if (name in _ENDING or isinstance(above, cst.Comparison | cst.ComparisonTarget)) and not _of_training(
            script, text
        ):
            yield text


def _of_training(script: Script, text: cst.SimpleString) -> bool:
    """Tell whether the same question asks for the name of the training split."""
    whole: cst.CSTNode = text
    for above in script.tree.ancestors(text):
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement | cst.BaseComp | cst.CompIf):
            break
        whole = above
    code = script.tree.code(whole)
    return "train" in code and "not" not in code
