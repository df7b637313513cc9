"""Repairs a text in rounds, inside the limited process.

Theory of operation. One round parses the text, asks the rules for the edits of what they find, and makes those that do
not overlap. Then the new text is parsed again, until no rule has an edit left. The order is that of the design: first
settings become values, then arms that only evaluation takes go, and in every round goes what those repairs have left
dead, but nothing that was dead in the text as it came. Before a round counts, the compiler reads its text; what it
does not read is not made.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from reviewer import gate
from reviewer.audit import audit
from reviewer.budget import TooMuch
from reviewer.edits import Change, Overlap, apply, changes
from reviewer.fix import Edited, Fixed
from reviewer.launch import LaunchFacts
from reviewer.policy import Policy
from reviewer.rules import load
from reviewer.rules.base import Edit, Found
from reviewer.rules.dead import Dead, find_dead
from reviewer.rules.unused import can_go
from reviewer.script import Script

_ROUNDS = 24
_STAGES = (("K101", "K102"), ("E201", "E204", "E205", "D305", "H701", "H704"))
_DEAD = {
    "branch": "`{}` is always the same now, so the other arm goes.",
    "flat": "`{}` is always true now.",
    "rest": "Nothing after this `{}` is reached any more.",
    "import": "`{}` is imported and not used any more.",
    "constant": "`{}` is not used any more.",
    "function": "`{}` is not used any more.",
}


@dataclass(frozen=True)
class _Group:
    """The edits of one finding: all of them or none."""

    rule: str
    sentence: str
    made: tuple[Change, ...]


@dataclass
class _State:
    """A text between rounds; `origin` is the line of the first text that each line comes from."""

    text: str
    origin: list[int]
    edits: list[Edited] = field(default_factory=list)
    refused: set[tuple[str, str]] = field(default_factory=set)  # what the compiler did not read
    dead: set[tuple[str, str, int]] | None = None  # in the first text
    script: Script | None = None  # of this text, if it has been read


def repair(text: str, policy: Policy, launch: LaunchFacts | None) -> Fixed:
    """Return a text with its certain repairs. The text has passed the gate's byte checks."""
    state = _State(text, list(range(1, text.count("\n") + 2)))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(20_000, limit))
    try:
        if gate.uncompiled(text) is not None:
            return _judged(state, policy, launch)
        for stage in _STAGES:
            for _ in range(_ROUNDS):
                if not _round(state, stage, policy, launch):
                    break
    finally:
        sys.setrecursionlimit(limit)
    return _judged(state, policy, launch)


def _judged(state: _State, policy: Policy, launch: LaunchFacts | None) -> Fixed:
    report = audit(state.text, hashlib.sha256(state.text.encode()).hexdigest(), policy, launch)
    return Fixed(state.text, tuple(sorted(state.edits, key=lambda e: e.line)), report.findings)


def _round(state: _State, codes: Sequence[str], policy: Policy, launch: LaunchFacts | None) -> bool:
    """Make the edits of one round; tell whether there were any."""
    script = state.script or _read(state.text, policy, launch)
    if script is None:
        return False
    state.script = script
    groups = _fitting(_groups(script, state, codes))
    made = sorted({c for g in groups for c in g.made}, key=lambda c: c.start)
    new = apply(state.text, made)
    if made and gate.uncompiled(new) is not None:
        groups = _one_by_one(state, groups)
        made = sorted({c for g in groups for c in g.made}, key=lambda c: c.start)
        new = apply(state.text, made)
    if not groups or new == state.text:
        return False
    for group in groups:
        for change in group.made:
            line = state.origin[state.text.count("\n", 0, change.start)]
            before = state.text[change.start : change.end]
            state.edits.append(Edited(group.rule, line, before, change.text, group.sentence))
    state.origin = _traced(state.text, state.origin, made)
    state.text, state.script = new, None
    return True


def _read(text: str, policy: Policy, launch: LaunchFacts | None) -> Script | None:
    """Parse a text; None where it cannot be read, or is nothing but a shell around another one."""
    try:
        script = Script(text, policy, launch)
        script.layout  # noqa: B018 - raises where libcst does not give the text back
        return None if script.shell is not None else script
    except (cst.ParserSyntaxError, ValueError):
        return None


def _groups(script: Script, state: _State, codes: Sequence[str]) -> Iterator[_Group]:
    baseline = script.policy.baseline
    for rule in load():
        if rule.code not in codes or script.policy.severity(rule.code) == "off":
            continue
        try:
            found = [item for item in rule.check(script) if isinstance(item, Found) and item.fix is not None]
            for item in found:
                if baseline is not None and _is_kept(script, item.node, baseline):
                    continue
                edits = item.fix() if item.fix is not None else ()
                why = next((e.why for e in edits if e.why), item.what)
                yield from _grouped(script, state, rule.code, why, edits)
        except TooMuch:
            continue
    try:
        for dead in _opened(script, state):
            yield from _grouped(script, state, "H703", _DEAD[dead.kind].format(dead.name), dead.edits())
    except TooMuch:
        return


def _is_kept(script: Script, node: cst.CSTNode, baseline: str) -> bool:
    """Tell whether the lines of a finding stand in the kit's own baseline."""
    start, end = script.layout.code(node)
    lines = script.text.split("\n")[script.layout.line(start) - 1 : script.layout.line(end)]
    return "\n" + "\n".join(lines) + "\n" in f"\n{baseline}\n"


def _opened(script: Script, state: _State) -> list[Dead]:
    """Return what is dead now and was not in the first text."""
    found = [(_key(script, state, dead), dead) for dead in find_dead(script)]
    if state.dead is None:
        state.dead = {key for key, _ in found}
    return [
        dead for key, dead in found if key not in state.dead and (dead.kind != "import" or can_go(script, dead.node))
    ]


def _key(script: Script, state: _State, dead: Dead) -> tuple[str, str, int]:
    line = state.origin[script.layout.line(script.layout.code(dead.node)[0]) - 1]
    kind = "branch" if dead.kind == "flat" else dead.kind
    return kind, "" if kind == "branch" else dead.name, line


def _grouped(script: Script, state: _State, rule: str, why: str, edits: Sequence[Edit]) -> Iterator[_Group]:
    if not edits:
        return
    try:
        made = tuple(changes(script.tree, script.layout, edits))
    except Overlap:
        return
    before = script.text[made[0].start : made[-1].end]
    if (rule, before) not in state.refused:
        yield _Group(rule, why, made)


def _fitting(groups: Iterable[_Group]) -> list[_Group]:
    """Keep the groups that do not overlap with an earlier one; the same change twice is one."""
    taken: list[Change] = []
    kept: list[_Group] = []
    for group in groups:
        new = [c for c in group.made if c not in taken]
        if not new:
            continue
        if any(_overlap(c, t) for c in new for t in taken):
            continue
        taken += new
        kept.append(_Group(group.rule, group.sentence, tuple(new)))
    return kept


def _overlap(one: Change, other: Change) -> bool:
    return one.start == other.start or (one.start < other.end and other.start < one.end)


def _one_by_one(state: _State, groups: Sequence[_Group]) -> list[_Group]:
    """Keep the groups with which the compiler can read the text; note the others, so that they do not come again."""
    kept: list[_Group] = []
    for group in groups:
        made = sorted((c for g in (*kept, group) for c in g.made), key=lambda c: c.start)
        if gate.uncompiled(apply(state.text, made)) is None:
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
