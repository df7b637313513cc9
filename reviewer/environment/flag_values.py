"""Ways in which a command line gives more than one plain value for each of its flags.

A competition that allows `--seed` means one number. With `nargs`, with a type that reads a file or a dict, with words
that no flag takes, or with files in place of words, one allowed flag is as good as fifty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.script import Script
from reviewer.values import Own

_PLAIN_TYPES = frozenset([f"builtins.{name}" for name in ("int", "float", "str", "bool")] + ["pathlib.Path"])
_PLAIN_ACTIONS = frozenset({"store", "store_true", "store_false", "store_const", "count", "help", "version", None})
_FILES = "fromfile_prefix_chars"
_REST = frozenset({"parse_known_args", "parse_known_intermixed_args"})


def gives_more(script: Script, keywords: Mapping[str, cst.BaseExpression], known: Mapping[str, Any]) -> str:
    """Say how one declaration takes more than one plain value; nothing where it does not."""
    count, action = known.get("nargs"), known.get("action")
    if "nargs" in keywords and count not in ("?", 0, 1, None):
        return "takes several words"
    if "multiple" in keywords and known.get("multiple") is not False:
        return "takes several words"
    if action is UNKNOWN:
        boolean = any(p.endswith("BooleanOptionalAction") for p in script.values.paths(keywords["action"]))
        return "" if boolean else "has an action of its own"
    if action not in _PLAIN_ACTIONS:
        return "takes several words"
    if "type" in keywords:
        paths = [v.path for v in script.values.of(keywords["type"]) if not isinstance(v, Own)]
        if paths and not _PLAIN_TYPES.intersection(paths) and not paths[0].startswith(("click.", "typer.")):
            return f"is read by `{paths[0].removeprefix('builtins.')}`"
    return ""


def find_more(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield where a parser reads its words from files, and where the words that no flag takes are used."""
    for word in script.mentions.get(_FILES, ()):
        arg = script.tree.parent(word)
        if isinstance(arg, cst.Arg) and arg.keyword is word and script.values.constant(arg.value) is not None:
            call = script.tree.parent(arg)
            yield call or arg, "Words of the launch command name files here, whose lines are read as more words."
    for name in sorted(_REST & script.mentions.keys()):
        for mention in script.mentions[name]:
            method = script.tree.parent(mention)
            call = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
            if isinstance(call, cst.Call) and call.func is method and not call.args and _uses_rest(script, call):
                yield call, "The words that no flag takes are used here, and any setting may be among them."


def _uses_rest(script: Script, call: cst.Call) -> bool:
    above = script.tree.parent(call)
    if isinstance(above, cst.Subscript):
        index = above.slice[0].slice
        return not (isinstance(index, cst.Index) and script.values.constant(index.value) == 0)
    if not isinstance(above, cst.Assign) or len(above.targets) != 1:
        return False
    target = above.targets[0].target
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return False
    rest = target.elements[1].value
    if not isinstance(rest, cst.Name):
        return True
    bindings = script.scopes.of(rest).find(rest.value)
    reads = (m for m in script.mentions[rest.value] if m is not rest and script.scopes.of(m).find(m.value) is bindings)
    return any(not _is_checked(script, read) for read in reads)


def _is_checked(script: Script, read: cst.Name) -> bool:
    """Tell whether words are only printed, or tested and refused: `if rest: parser.error(…)`."""
    above = script.tree.parent(read)
    if isinstance(above, cst.Element | cst.AssignTarget | cst.FormattedStringExpression | cst.If | cst.Assert):
        return True
    call = script.tree.parent(above) if isinstance(above, cst.Arg) else None
    name = getattr(getattr(call, "func", None), "attr", getattr(call, "func", None))
    return getattr(name, "value", "") in ("print", "info", "warning", "warn", "debug", "error", "print0", "log", "join")
