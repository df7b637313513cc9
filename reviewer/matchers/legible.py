"""Whether a person can read a file, measured by proportions over all of it.

Public training scripts were measured for the limits: of the names that they bind at most 23 % have one or two
characters, of their functions and classes at most two, nobody puts three statements on one line except a minifier
(two thirds of all statements then), and no script has lambdas inside lambdas inside lambdas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.report import Severity
from reviewer.script import Script

FEWEST = 40  # names or statements; below, proportions say nothing
_ERASED, _JOINED, _CROWDED = 0.8, 0.5, 0.4

_CONFUSING = re.compile(r"_*[lI1O0]{3,}_*|_{2,}|_0x[0-9a-f]+|[Oo0]+[_Oo0]*[O0o]{2,}|[a-z]{1,3}_?[0-9a-f]{12,}")
_ESCAPE = re.compile(r"\\(?:x[2-7][0-9a-fA-F]|u00[2-7][0-9a-fA-F]|U000000[2-7][0-9a-fA-F]|[01]?[4-7][0-7]|1[0-7][0-7])")
_LAMBDAS = 4  # nested; from here on nobody can follow


@dataclass(frozen=True)
class Sign:
    """Something that makes a file hard to read, and how severe that is at most."""

    what: str
    at_most: Severity


def signs(script: Script) -> Iterator[Sign]:
    """Yield what makes a file hard to read."""
    names = {name for scope in script.scopes.all() for name, bindings in scope.names.items() if _is_own(bindings)}
    defined = [node.name.value for node in script.tree.both(cst.FunctionDef, cst.ClassDef)]
    yield from _erased(names, defined)
    yield from _confusing(names)
    yield from _spelled(script)
    yield from _joined(script)
    depth = _lambdas(script)
    if depth >= _LAMBDAS:
        severity: Severity = "reject" if depth >= 2 * _LAMBDAS else "warn"
        yield Sign(f"Functions without a name are nested {depth} deep", severity)


def _is_own(bindings: object) -> bool:
    return isinstance(bindings, list) and any(b.kind != "ref" for b in bindings)


def _erased(names: set[str], defined: list[str]) -> Iterator[Sign]:
    """Find names taken away: tensors are called `x` and `q` everywhere, functions and classes are not."""
    short = sum(len(name) <= 2 for name in names)
    nameless = sum(len(name) <= 2 for name in defined)
    if len(defined) >= 10 and nameless >= _ERASED * len(defined) and short >= 0.6 * len(names):
        yield Sign(f"Of {len(defined)} functions and classes, {nameless} have names of one or two characters", "reject")
    elif len(names) >= FEWEST and short >= _ERASED * len(names):
        yield Sign(f"Of {len(names)} names in the file, {short} have one or two characters", "reject")


def _confusing(names: set[str]) -> Iterator[Sign]:
    found = sorted(name for name in names if _CONFUSING.fullmatch(name) and not name.startswith("__init"))
    if len(found) >= 3:
        many = len(found) >= 5 and len(found) * 5 >= len(names)
        what = f"Names such as `{found[0]}` and `{found[1]}`, {len(found)} of them, cannot be told apart by eye"
        yield Sign(what, "reject" if many else "warn")


def _spelled(script: Script) -> Iterator[Sign]:
    """Find texts that are spelled by codes where letters would do."""
    strings = script.tree.of(cst.SimpleString)
    spelled = sum(_is_spelled(s.value) for s in strings) if "\\" in script.text else 0
    calls = script.called.get("builtins.chr", ())
    spelled += sum(1 for call in calls if call.args and isinstance(script.values.constant(call.args[0].value), int))
    spelled += sum(1 for path, _ in script.handing_on(("builtins.chr",))) if "chr" in script.text else 0
    if spelled >= 3:
        many = spelled >= 8 and spelled * 4 >= len(strings)
        yield Sign(f"{spelled} texts or letters are spelled by their codes", "reject" if many else "warn")


def _is_spelled(text: str) -> bool:
    if "\\" not in text:
        return False
    found = _ESCAPE.findall(text)
    return len(found) >= 3 and sum(map(len, found)) * 2 >= len(text) - 2


def _joined(script: Script) -> Iterator[Sign]:
    lines = script.tree.of(cst.SimpleStatementLine)
    every = sum(len(line.body) for line in lines)
    joined = sum(len(line.body) for line in lines if len(line.body) >= 3)
    if every >= FEWEST and joined >= _JOINED * every:
        yield Sign(f"{100 * joined // every} % of all statements share their line with two others or more", "warn")
        return
    rows = script.text.split("\n")
    long = sum(len(row) for row in rows if len(row) > 500)
    if every >= FEWEST and long >= _CROWDED * len(script.text):
        strings = sum(len(s.value) for s in script.tree.of(cst.SimpleString) if len(s.value) > 400)
        if long - strings >= _CROWDED * len(script.text):
            yield Sign("Most of the file stands in lines of more than 500 characters", "warn")


def _lambdas(script: Script) -> int:
    """Return how deep lambdas are nested."""
    depths: dict[int, int] = {}
    for function in script.tree.of(cst.Lambda):  # an outer one stands before those in it
        script.budget.spend()
        outer = script.tree.enclosing(function, cst.Lambda)
        depths[id(function)] = depths.get(id(outer), 0) + 1
    return max(depths.values(), default=0)
