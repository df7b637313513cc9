"""What changed since the team's previous version: its knobs, its functions, its frozen sections.

The previous text costs one more parse, and what it is cannot end an audit: where the gate, the compiler or the parser
turn it away, or it would take too long, it is as if there were no version before. Whatever else fails is not the old
text's doing, and the report says that it cannot tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from reviewer import gate
from reviewer.baselines.banners import Lines, span
from reviewer.baselines.sections import changed_between
from reviewer.budget import TooMuch
from reviewer.facts import Drift
from reviewer.found import Setting
from reviewer.packed.layers import inner_texts
from reviewer.report import Knob
from reviewer.rules import load
from reviewer.script import Script
from reviewer.wording import clip

MOST_NAMES = 200  # in each list; one more says how many others there are
MOST_STEPS = 200_000
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def drift_of(script: Script, knobs: Sequence[Knob]) -> Drift | None:
    """Return what changed, or None where there is no version before, or none that can be read."""
    text = script.context.previous
    if text is None or gate.check(text.encode("utf-8", "surrogatepass"), script.policy.max_bytes):
        return None
    layers = _layers(text, script)
    if layers is None:
        return None
    try:
        had = list(dict.fromkeys(key for layer in layers for key in _keys(layer)))
        return _drift(layers[-1], script, had, keys_of(knobs))
    except TooMuch:
        return None


def keys_of(knobs: Iterable[Knob]) -> list[str]:
    """Return the keys of knobs, each once, in source order: a key that is read in three places is one knob."""
    return list(dict.fromkeys(knob.key for knob in sorted(knobs, key=lambda knob: knob.line)))


def _layers(text: str, now: Script) -> list[Script] | None:
    """Return the previous version and what it carries packed, the innermost last; None where that cannot be read."""
    try:
        script = Script(text, now.policy, now.launch)
        script.tree.syntax()
        layers = [script, *inner_texts(script)]
    except (cst.ParserSyntaxError, SyntaxError, ValueError, RecursionError, MemoryError, TooMuch):
        return None
    read = [layer for layer in layers if isinstance(layer, Script)]
    for layer in read:
        layer.budget.left = min(layer.budget.left, MOST_STEPS)
    return read if len(read) == len(layers) else None


def _keys(script: Script) -> Iterator[str]:
    for rule in load():
        if rule.code.startswith("K") and script.policy.severity(rule.code) != "off":
            yield from (item.key for item in rule.check(script) if isinstance(item, Setting))


def _drift(before: Script, now: Script, had: list[str], has: list[str]) -> Drift:
    old, new = (Lines(script.text, script.tree.syntax()) for script in (before, now))
    was, now_is = _functions(old), _functions(new)
    old_keys, new_keys = set(had), set(has)
    return Drift(
        knobs_before=len(had),
        knobs_now=len(has),
        knobs_added=_told(key for key in has if key not in old_keys),
        knobs_removed=_told(key for key in had if key not in new_keys),
        functions_added=_told(name for name in now_is if name not in was),
        functions_removed=_told(name for name in was if name not in now_is),
        functions_changed=_told(name for name in now_is if name in was and not _same(was[name], now_is[name])),
        sections_changed=_told(changed_between(old, new, now.policy.sections)),
    )


_Definition = tuple[str, ast.stmt]  # the source, and the compiler's tree of it


def _functions(lines: Lines) -> dict[str, list[_Definition]]:
    """Return the definitions of each function by its qualified name, in source order."""
    found: dict[str, list[_Definition]] = {}
    todo: list[tuple[ast.AST, str]] = [(statement, "") for statement in reversed(lines.body)]
    while todo:
        node, prefix = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = clip(prefix + node.name)
            if not isinstance(node, ast.ClassDef):
                first, last = span(node)
                found.setdefault(name, []).append(("\n".join(lines.lines[first:last]), node))
            prefix = f"{name}."
        below = [inner for block in _BLOCKS for inner in getattr(node, block, ()) if isinstance(inner, ast.AST)]
        todo.extend((inner, prefix) for inner in reversed(below))
    return found


def _same(one: list[_Definition], other: list[_Definition]) -> bool:
    """Tell whether definitions are the same but for comments and blank space."""
    if [source for source, _ in one] == [source for source, _ in other]:
        return True
    return [ast.dump(node) for _, node in one] == [ast.dump(node) for _, node in other]


def _told(names: Iterable[str]) -> tuple[str, ...]:
    every = list(names)
    more = (f"… and {len(every) - MOST_NAMES} more",) if len(every) > MOST_NAMES else ()
    return (*every[:MOST_NAMES], *more)
