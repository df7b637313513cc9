"""Repairs a text in rounds, inside the limited process.

Theory of operation. One round parses the text, asks the rules for the edits of what they find, and makes those that do
not overlap. Then the new text is parsed again, until no rule has an edit left. The order is that of the design: first
settings become values, with the branches that this decides; when none is left, arms that only evaluation takes go. In
every round goes what those repairs have left without use, but nothing that was dead in the text as it came. Before a
round counts, the compiler reads its text; what it does not read is not made.

What a round costs is its parse, so nothing is read twice: a text keeps its tree until it changes, the compiler's tree
comes along, offsets are worked out only where there is an edit, and the last tree is the one that is judged.

Repaired is what stops the script under its policy, and the findings of rules that were asked for (`also`).
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from reviewer import gate
from reviewer.audit import audit
from reviewer.budget import MOST_STEPS
from reviewer.fix import Edited, Fixed
from reviewer.found import Edit, Found
from reviewer.launch import LaunchFacts
from reviewer.layout import Unplaced
from reviewer.matchers.dead import Dead, find_dead
from reviewer.matchers.unused import can_go
from reviewer.policy import Policy
from reviewer.repairs.edits import Change, Overlap, apply, changes
from reviewer.repairs.grouping import Group, fitting
from reviewer.rules import load
from reviewer.rules.base import Rule
from reviewer.script import Script

_ROUNDS = 32
_SETTINGS = ("K101", "K102")
_ARMS = ("E201", "E204", "E205", "H701", "H704")
_ANY_TIME = ("D305",)  # adds an argument, whatever else goes
_STOPS = ("reject", "review")
_DECIDED = ("branch", "flat", "rest")
_DEAD = {
    "branch": "`{}` is always the same now, so the other arm goes.",
    "flat": "`{}` is always true now.",
    "rest": "Nothing after this `{}` is reached any more.",
    "import": "`{}` is imported and not used any more.",
    "constant": "`{}` is not used any more.",
    "function": "`{}` is not used any more.",
}


@dataclass
class _State:
    """A text between rounds; `origin` is the line of the first text that each line comes from."""

    text: str
    policy: Policy
    launch: LaunchFacts | None
    also: Collection[str]
    origin: list[int]
    edits: list[Edited] = field(default_factory=list)
    refused: set[tuple[str, str]] = field(default_factory=set)  # what the compiler did not read
    dead: set[tuple[str, str, int]] | None = None  # in the first text
    compiled: ast.Module | None = None  # the compiler's tree of this text
    script: Script | None = None  # this text, if it has been read


def repair(text: str, policy: Policy, launch: LaunchFacts | None, also: Collection[str] = ()) -> Fixed:
    """Return a text with its certain repairs. The text has passed the gate's byte checks."""
    state = _State(text, policy, launch, also, list(range(1, text.count("\n") + 2)), compiled=_compiled(text))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(20_000, limit))
    try:
        if state.compiled is not None:
            for _ in range(_ROUNDS):
                if not _round(state):
                    break
    finally:
        sys.setrecursionlimit(limit)
    return _judged(state)


def _compiled(text: str) -> ast.Module | None:
    """Return the compiler's tree of a text that it can read."""
    try:
        tree = gate.syntax_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return tree if gate.uncompiled(text, tree) is None else None


def _judged(state: _State) -> Fixed:
    digest = hashlib.sha256(state.text.encode()).hexdigest()
    if state.script is not None:
        state.script.budget.left = MOST_STEPS  # what repairs cost is not the text's
    report = audit(state.text, digest, state.policy, state.launch, script=state.script)
    edits = tuple(sorted(state.edits, key=lambda e: e.line))
    return Fixed(state.text, edits, report.findings, frozenset(state.also))


def _round(state: _State) -> bool:
    """Make the edits of one round; tell whether another one may have more."""
    script = state.script = state.script or _read(state)
    if script is None or script.shell is not None:
        return False
    try:
        groups = fitting(_groups(script, state))
    except Unplaced:
        return False
    made = _changes(groups)
    new = apply(state.text, made)
    compiled = _compiled(new) if made else None
    if made and compiled is None:
        groups = _one_by_one(state, groups)
        made = _changes(groups)
        new = apply(state.text, made)
        compiled = _compiled(new)
        if not made:
            return True  # what was refused does not come again, and made way for others
    if not made:
        return False
    for group in groups:
        for change in group.made:
            line = state.origin[state.text.count("\n", 0, change.start)]
            before = state.text[change.start : change.end]
            state.edits.append(Edited(group.rule, line, before, change.text, group.sentence))
    state.origin = _traced(state.text, state.origin, made)
    state.text, state.compiled, state.script = new, compiled, None
    return True


def _read(state: _State) -> Script | None:
    """Parse a text; None where it cannot be read."""
    try:
        script = Script(state.text, state.policy, state.launch)
    except cst.ParserSyntaxError:
        return None
    script.tree.compiled = state.compiled
    return script


def _groups(script: Script, state: _State) -> Iterator[Group]:
    settings = list(_repairs(script, state, _SETTINGS))
    dead = list(_opened(script, state))
    yield from settings
    if not settings and not any(kind in _DECIDED for kind, _ in dead):
        yield from _repairs(script, state, _ARMS)
    yield from _repairs(script, state, _ANY_TIME)
    yield from (group for _, group in dead)


def _repairs(script: Script, state: _State, codes: Collection[str]) -> Iterator[Group]:
    """Yield the edits of what stops the script, and of what was asked for."""
    for rule in load():
        if rule.code not in codes or script.policy.severity(rule.code) == "off":
            continue
        try:
            found = [item for item in rule.check(script) if isinstance(item, Found) and item.fix is not None]
            for item in found:
                stops = script.policy.severity(rule.code, item.at_most) in _STOPS
                if (stops or rule.code in state.also) and not _is_inherited(script, rule, item):
                    edits = item.fix() if item.fix is not None else ()
                    why = next((e.why for e in edits if e.why), item.what)
                    yield from _grouped(script, state, rule.code, why, edits)
        except Unplaced:
            raise
        except Exception:  # noqa: S112 - whatever a text does to one repair, the others are made; its finding stays
            continue


def _is_inherited(script: Script, rule: Rule, item: Found) -> bool:
    """Tell whether a finding is the kit's own; where each stands costs something, so without a baseline nobody asks."""
    if script.policy.baseline is None:
        return False
    start, end = script.layout.code(item.node)
    return script.inherited.holds(rule, item, script.layout.line(start), script.layout.line(end))


def _opened(script: Script, state: _State) -> Iterator[tuple[str, Group]]:
    """Yield, with its kind, what is dead now and was not in the first text."""
    try:
        found = list(find_dead(script))
        spans = script.tree.spans([dead.node for dead in found]) if found else {}
        keys = [_key(state, dead, spans[id(dead.node)].line) for dead in found]
        if state.dead is None:
            state.dead = set(keys)
        for key, dead in zip(keys, found, strict=True):
            if key not in state.dead and (dead.kind != "import" or can_go(script, dead.node)):
                for group in _grouped(script, state, "H703", _DEAD[dead.kind].format(dead.name), dead.edits()):
                    yield dead.kind, group
    except Unplaced:
        raise
    except Exception:
        return


def _key(state: _State, dead: Dead, line: int) -> tuple[str, str, int]:
    kind = "branch" if dead.kind == "flat" else dead.kind
    return kind, "" if kind == "branch" else dead.name, state.origin[line - 1]


def _grouped(script: Script, state: _State, rule: str, why: str, edits: Sequence[Edit]) -> Iterator[Group]:
    if not edits:
        return
    try:
        made = tuple(changes(script.tree, script.layout, edits))
    except Overlap:
        return
    before = script.text[made[0].start : made[-1].end]
    same = all(script.text[change.start : change.end] == change.text for change in made)
    if not same and (rule, before) not in state.refused:
        yield Group(rule, why, made)


def _changes(groups: Sequence[Group]) -> list[Change]:
    return sorted({change for group in groups for change in group.made}, key=lambda change: change.start)


def _one_by_one(state: _State, groups: Sequence[Group]) -> list[Group]:
    """Keep the groups with which the compiler can read the text; note the others, so that they do not come again."""
    kept: list[Group] = []
    for group in groups:
        if _compiled(apply(state.text, _changes([*kept, group]))) is not None:
            kept.append(group)
        else:
            state.refused.add((group.rule, state.text[group.made[0].start : group.made[-1].end]))
    return kept


def _traced(text: str, origin: list[int], made: Sequence[Change]) -> list[int]:
    """Return the first text's line for each line of the new text."""
    traced = [origin[0]]
    line = at = 0
    for change in made:
        count = text.count("\n", at, change.start)
        traced += origin[line + 1 : line + 1 + count]
        line += count
        traced += [origin[line]] * change.text.count("\n")
        line += text.count("\n", change.start, change.end)
        if not change.text and text[change.start - 1 : change.start] in ("\n", ""):
            traced[-1] = origin[line]
        at = change.end
    return traced + origin[line + 1 :]
