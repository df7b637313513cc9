"""Where a script asks about the machine, the clock or the files around it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.sources import is_of_checkpoint
from reviewer.environment.hosts import ASKING, ASKING_METHODS, CALLED, FAMILIES, OF_FILES, SAID, Kind
from reviewer.files.paths import HOLE, leads_outside, shown
from reviewer.files.reads import DATA_END, MANY, written
from reviewer.files.splits import is_own
from reviewer.script import Script
from reviewer.wording import clip

_FAMILIES = tuple(FAMILIES)


def asked(script: Script) -> Iterator[tuple[cst.CSTNode, Kind, str]]:
    """Yield what says something about the surroundings, with its kind and how to say it."""
    for path, calls in script.called.items():
        kind = CALLED.get(path) or (_of_family(path) if path.startswith(_FAMILIES) else None)
        if kind is not None:
            yield from ((call, kind, f"What `{clip(path, 60)}` says") for call in calls)
        elif path == "builtins.hash":
            yield from ((call, "chance", "What `hash` says of a text") for call in calls if _is_of_text(script, call))
        elif path in ASKING:
            for call in calls:
                if call.args and (name := _missing(script, call.args[0].value)):
                    yield call, "file", f"Whether `{clip(name, 80)}` is there"
    for path, said in SAID.items():
        module, _, word = path.rpartition(".")
        is_there = module == "builtins" or module.partition(".")[0] in script.text
        for mention in script.mentions.get(word, ()) if is_there else ():
            above = script.tree.parent(mention)
            node = above if isinstance(above, cst.Attribute) and above.attr is mention else mention
            if not isinstance(above, cst.ImportAlias) and path in script.values.paths(node):
                yield node, said, f"What `{path}` says"
    for word in sorted(OF_FILES & script.mentions.keys()):
        holders = (script.tree.parent(mention) for mention in script.mentions[word])
        yield from ((h, "setting", f"What `{word}` says of a file") for h in holders if isinstance(h, cst.Attribute))
    for method in sorted(ASKING_METHODS & script.mentions.keys()):
        for mention in script.mentions[method]:
            above = script.tree.parent(mention)
            asking = script.tree.parent(above) if isinstance(above, cst.Attribute) else None
            if not isinstance(above, cst.Attribute) or not isinstance(asking, cst.Call) or asking.func is not above:
                continue
            if not any(p in ASKING for p in script.path_of(asking)) and (name := _missing(script, above.value)):
                yield asking, "file", f"Whether `{clip(name, 80)}` is there"


def _of_family(path: str) -> Kind:
    return next(kind for family, kind in FAMILIES.items() if path.startswith(family))


def _is_of_text(script: Script, call: cst.Call) -> bool:
    """Tell whether a text is hashed, which gives another number in each process; numbers give the same."""
    value = call.args[0].value if call.args else None
    if isinstance(value, cst.FormattedString | cst.SimpleString | cst.ConcatenatedString):
        return True
    if isinstance(value, cst.Call) and {"builtins.str", "builtins.repr"}.intersection(script.path_of(value)):
        return True
    return isinstance(script.values.constant(value), str | bytes)


def _missing(script: Script, node: cst.BaseExpression) -> str:
    """Return the name of a file that the run does not write; empty where it does, or where nothing is known."""
    found = script.paths.of(node)
    for text, _ in found if len(found) <= MANY else ():  # more are all that a helper can return
        known = text.strip("\1/.") and not text.startswith((HOLE, "/", "~")) and not leads_outside(text, script.policy)
        if not known or text == "None" or is_own(text) or DATA_END.search(text.lower()) or text in written(script):
            continue
        if not is_of_checkpoint(script, node):
            return shown(text)
    return ""
