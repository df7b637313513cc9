"""Grades the frozen sections of a script against the baselines that the policy accepts.

Byte-identical: the section's text is an accepted one, but for blank lines around it. AST-identical: its comments,
blank space and line ends are its own, its code is not; a docstring counts as code, since it can be read. Both only
where nothing else in the file makes something else of what the section defines or uses (`rebinding.py`). Everything
else is changed, and so is a section that is missing or stands twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import libcst as cst

from reviewer import gate
from reviewer.baselines.banners import Cut, Lines
from reviewer.baselines.constants import constants_of
from reviewer.baselines.frozen import Accepted, Frozen
from reviewer.baselines.rebinding import Inside, doubts
from reviewer.facts import Section
from reviewer.policy import Policy
from reviewer.script import Script
from reviewer.values import canonical
from reviewer.wording import clip

MOST_DOUBTS = 5  # said of one section


@dataclass(frozen=True)
class Graded:
    """A section's grade, and for a changed one each place with the sentence that says what is changed there."""

    section: Section
    changes: tuple[tuple[cst.CSTNode, str], ...]
    inside: Inside | None


def graded(script: Script) -> tuple[Section, ...]:
    """Return the grade of each frozen section of the policy."""
    return tuple(each.section for each in script.sections)


def grades(script: Script) -> tuple[Graded, ...]:
    """Return the grades with their reasons; `Script.sections` keeps them."""
    if not script.policy.sections:
        return ()
    lines = Lines(script.text, script.tree.syntax())
    return tuple(_grade(script, lines, section) for section in script.policy.sections)


def changed_between(before: Lines, now: Lines, sections: Sequence[Frozen]) -> list[str]:
    """Return the names of the sections whose code is not the same in two scripts."""
    one, other = ([[_dump(cut.statements) for cut in text.cuts(s)] for s in sections] for text in (before, now))
    return [section.name for section, old, new in zip(sections, one, other, strict=True) if old != new]


def taken_from(text: str, section: Frozen) -> dict[str, Any]:
    """Return `text`, `imports` and `constants` of a section as a script has it, for the list of accepted baselines.

    Raises ValueError where the script would not itself pass with it, and SyntaxError where it is no Python.
    """
    if refused := gate.check(text.encode(), 4_194_304):
        raise ValueError(refused.message.partition("\n")[0])
    ast.parse(text)
    script = Script(text, Policy())
    cuts = Lines(text, script.tree.syntax()).cuts(section)
    if len(cuts) != 1:
        raise ValueError(_absent(section, len(cuts)))
    used = {node.id for node in _nodes(cuts[0].statements) if isinstance(node, ast.Name)}
    imports = {}
    for name in sorted(used):
        bindings = script.scopes.module.names.get(name, ())
        paths = {canonical(b.path) for b in bindings if b.kind == "ref"}
        if len(paths) == 1 and all(b.kind == "ref" for b in bindings):
            imports[name] = paths.pop()
    accepted = Accepted("itself", "", cuts[0].text, tuple(imports.items()))
    own = _grade(
        script,
        Lines(text, script.tree.syntax()),
        Frozen(section.name, section.banner, section.definitions, (accepted,)),
    )
    if own.changes:
        raise ValueError(own.changes[0][1].replace("the accepted baseline `itself`", "what runs"))
    constants = constants_of(script, used - _set_inside(cuts[0].statements))
    return {"text": accepted.text, "imports": imports, **({"constants": constants} if constants else {})}


def _grade(script: Script, lines: Lines, section: Frozen) -> Graded:
    cuts, newest = lines.cuts(section), section.newest
    top = script.tree.module
    if len(cuts) != 1:
        where = _node_at(script, cuts[1].statements) if len(cuts) > 1 else top
        return Graded(Section(section.name, "changed", newest.name), ((where, _absent(section, len(cuts))),), None)
    cut = cuts[0]
    inside = _inside(script, cut)
    dumped = None
    last: tuple[tuple[cst.CSTNode, str], ...] = ()
    for accepted in reversed(section.accepted):
        same = cut.text == accepted.text
        if not same:
            dumped = _dump(cut.statements) if dumped is None else dumped
            if dumped != _dump(ast.parse(accepted.text).body):
                continue
        found = tuple(islice(doubts(script, inside, dict(accepted.imports)), MOST_DOUBTS))
        if not found:
            return Graded(
                Section(section.name, "byte-identical" if same else "ast-identical", accepted.name), (), inside
            )
        last = last or tuple((_placed(script, node), _doubted(section, accepted, done)) for node, done in found)
    if not last:
        place = cst_of(script, cut.statements[:1])
        last = ((place[0] if place else top, _differs(section, newest, cut)),)
    return Graded(Section(section.name, "changed", newest.name), last, inside)


def _absent(section: Frozen, count: int) -> str:
    if section.definitions:
        return (
            f"The frozen section `{section.name}` is not there: it is {_list(section.definitions)}, each defined once."
        )
    how = "is not there" if not count else f"stands here {count} times"
    return f"The frozen section `{section.name}` {how}: it is what follows the one banner `{section.banner}`."


def _doubted(section: Frozen, accepted: Accepted, done: str) -> str:
    return f"The frozen section `{section.name}` reads as the accepted baseline `{accepted.name}`, but this {done}."


def _differs(section: Frozen, newest: Accepted, cut: Cut) -> str:
    theirs = ast.parse(newest.text)
    mine, other = _first_difference(cut.statements, theirs.body)
    there = newest.text.split("\n")
    written = f"`{clip(there[other - 1].strip(), 120)}`"
    says = f"line {mine} is not {written}" if mine else f"{written} is missing at its end"
    if not other:
        says = f"line {mine} has something that the baseline does not have"
    return f"The frozen section `{section.name}` is not the accepted baseline `{newest.name}`: {says}."


def _first_difference(mine: Sequence[ast.stmt], theirs: Sequence[ast.stmt]) -> tuple[int, int]:
    """Return the line of either text where the first difference is, 0 where one has ended."""
    todo: list[tuple[Any, Any, int, int]] = [(list(mine), list(theirs), 0, 0)]
    while todo:
        a, b, line, other = todo.pop()
        line, other = getattr(a, "lineno", line), getattr(b, "lineno", other)
        if isinstance(a, list) and isinstance(b, list):
            rest = a[len(b) :], b[len(a) :]
            if rest[0] or rest[1]:
                here, there = (
                    getattr(r[0], "lineno", at) if r else 0 for r, at in zip(rest, (line, other), strict=True)
                )
                todo.append((_End(here), _End(there), here, there))
            todo.extend((x, y, line, other) for x, y in reversed(list(zip(a, b, strict=False))))
        elif isinstance(a, ast.AST) and type(a) is type(b):
            fields = [(getattr(a, f, None), getattr(b, f, None), line, other) for f in a._fields]
            todo.extend(reversed(fields))
        elif isinstance(a, _End) or type(a) is not type(b) or repr(a) != repr(b):
            return line, other
    return 0, 0


@dataclass(frozen=True)
class _End:
    """Where one of two lists goes on and the other does not."""

    lineno: int


def _inside(script: Script, cut: Cut) -> Inside:
    names = frozenset(name for statement in cut.statements for name in _binds(statement))
    classes = frozenset(s.name for s in cut.statements if isinstance(s, ast.ClassDef))
    functions = frozenset(s.name for s in cut.statements if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef))
    used = frozenset(node.id for node in _nodes(cut.statements) if isinstance(node, ast.Name))
    return Inside(tuple(cst_of(script, cut.statements)), names, classes, functions, used)


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a section binds in the module, also in its blocks."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            todo.extend(ast.iter_child_nodes(node))


def _nodes(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    return (node for statement in statements for node in ast.walk(statement))


def _set_inside(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that are the section's own somewhere in it: its definitions, locals, parameters."""
    names = {name for statement in statements for name in _binds(statement)}
    for node in _nodes(statements):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
    return names


def _dump(statements: Sequence[ast.stmt]) -> str:
    return "\n".join(ast.dump(statement) for statement in statements)


def cst_of(script: Script, wanted: Sequence[ast.stmt]) -> list[cst.CSTNode]:
    """Return the statements of libcst's module that are these of the compiler's, in its order."""
    holders: list[cst.CSTNode] = []
    for statement in script.tree.module.body:
        holders += [statement] * (len(statement.body) if isinstance(statement, cst.SimpleStatementLine) else 1)
    ids = {id(statement) for statement in wanted}
    chosen = [h for h, s in zip(holders, script.tree.syntax().body, strict=True) if id(s) in ids]
    return list({id(node): node for node in chosen}.values())


def _node_at(script: Script, statements: Sequence[ast.stmt]) -> cst.CSTNode:
    found = cst_of(script, statements[:1])
    return found[0] if found else script.tree.module


def _placed(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    return node if script.tree.parent(node) is not None else script.tree.module


def _list(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"`{n}`" for n in names[:-1]), f"`{names[-1]}`")))
