"""Folds a command line of argparse: each `args.lr` becomes the value that the launch command, or the default, gives it.

Where `args` is only ever asked for its attributes, those become constants, and the parser goes with all of its flags.
Where it is handed on as a whole, the parser stays and is given the words of the command as constants, which comes to
the same. Nothing is repaired where a flag is missing, or a value depends on more than the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import libcst as cst

from reviewer.environment.flag import Flag, default_of
from reviewer.environment.launched import Given
from reviewer.fold import UNKNOWN
from reviewer.found import Edit
from reviewer.repairs.bracketing import in_brackets
from reviewer.repairs.folding import Unsure, literal
from reviewer.script import Script

_READING = ("parse_args", "parse_known_args", "parse_intermixed_args")
_HARMLESS = frozenset(["description", "prog", "epilog", "formatter_class", "usage", "add_help", "allow_abbrev"])
_EXACT = ("", "int", "float", "str")
_KNOWN = frozenset(
    {"int", "float", "str", *(q + word + q for word in ("store", "store_true", "store_false") for q in "\"'")}
)
_GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
_WHY = "The launch command is not read any more; what it gives stands in the file."


def _is_made_elsewhere(flag: Flag) -> bool:
    """Tell whether a word becomes a value by something else than a type that is named: a lambda, a function."""
    args = flag.node.args if isinstance(flag.node, cst.Call) else ()
    kinds = [a.value for a in args if a.keyword is not None and a.keyword.value in ("type", "action")]
    return any(
        not isinstance(kind, cst.Name | cst.SimpleString) or getattr(kind, "value", "") not in _KNOWN for kind in kinds
    )


class Unflagging:
    """The repair of one script's flags, the same for each of them."""

    def __init__(self, script: Script, flags: Sequence[Flag], given: Given) -> None:
        self._script, self._flags, self._given = script, flags, given

    @cached_property
    def can(self) -> bool:
        """Tell, for little, whether there is a repair."""
        return bool(self._readings) and not self._given.missing and not self._given.unknown and self._is_plain

    def edits(self) -> Sequence[Edit]:
        """Return the edits that take the flags out, or give the parser its words."""
        if not self.can:
            return ()
        try:
            return self._folded() or self._frozen()
        except Unsure:
            return self._frozen()

    @cached_property
    def _readings(self) -> list[cst.Call]:
        found = []
        for name in _READING:
            for word in self._script.mentions.get(name, ()):
                above = self._script.tree.parent(word)
                call = self._script.tree.parent(above) if isinstance(above, cst.Attribute) else None
                if isinstance(call, cst.Call) and call.func is above and not call.args:
                    found.append(call)
        return found

    @cached_property
    def _is_plain(self) -> bool:
        """Tell whether this is argparse and nothing that makes the meaning of words a matter of the run."""
        makers = self._script.called.get("argparse.ArgumentParser", [])
        keywords = {a.keyword.value if a.keyword else "" for call in makers for a in call.args}
        odd = ("add_subparsers", "add_option", "parse_args_into_dataclasses", "parents", "orig_argv")
        return (
            bool(makers)
            and keywords <= _HARMLESS | {""}
            and self._script.mentions.keys().isdisjoint(odd)
            and all(flag.key and not flag.whole for flag in self._flags)
        )

    def _frozen(self) -> Sequence[Edit]:
        launch = self._script.launch
        words = literal(list(launch.args if launch is not None else ()))
        source = self._script.layout.source
        return [Edit(call, f"{source(call.func)}({words})", _WHY) for call in self._readings]

    def _folded(self) -> Sequence[Edit]:
        """Return the edits that leave nothing of the parser. Raises Unsure where something of it is needed."""
        tree = self._script.tree
        if len(self._readings) != 1:
            raise Unsure
        assign = tree.parent(self._readings[0])
        match assign:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as target)]):
                pass
            case _:
                raise Unsure
        values = self._values()
        edits = [Edit(assign, "", _WHY), *self._parser(assign)]
        bindings = self._script.scopes.of(assign).find(target.value)
        for use in self._script.mentions[target.value]:
            if use is target:
                continue
            above = tree.parent(use)
            if not isinstance(above, cst.Attribute) or above.value is not use or above.attr.value not in values:
                raise Unsure
            if len(bindings) != 1 or self._script.scopes.of(use).find(target.value) is not bindings:
                raise Unsure
            if isinstance(tree.parent(above), cst.AssignTarget | cst.AugAssign | cst.Del | cst.AnnAssign):
                raise Unsure
            text = in_brackets(self._script, above, values[above.attr.value])
            if tree.enclosing(above, cst.FormattedString) is not None:
                text = text.replace('"', "'")
                if "\\" in text or text.count("'") not in (0, 2):
                    raise Unsure
            edits.append(Edit(above, text))
        return edits

    def _values(self) -> dict[str, str]:
        """Return the literal of each attribute. Raises Unsure."""
        found: dict[str, str] = {}
        for flag in self._flags:
            given = id(flag) in self._given.values
            if not given and (flag.default is UNKNOWN or flag.required):
                raise Unsure
            if (flag.convert not in _EXACT or _is_made_elsewhere(flag)) and (given or isinstance(flag.default, str)):
                raise Unsure
            if given and flag.takes is None:
                raise Unsure
            value: Any = self._given.values[id(flag)] if given else default_of(flag)
            if not given and not isinstance(flag.default, str | int | float | bool | None):
                raise Unsure
            found[self._name(flag)] = literal(value)
        return found

    def _name(self, flag: Flag) -> str:
        for arg in flag.node.args if isinstance(flag.node, cst.Call) else ():
            if arg.keyword is not None and arg.keyword.value == "dest":
                name = self._script.values.constant(arg.value)
                if not isinstance(name, str):
                    raise Unsure
                return name
        return flag.key.lstrip("-").replace("-", "_")

    def _parser(self, reading: cst.Assign) -> list[Edit]:
        """Return what removes the parser and its flags. Raises Unsure where anything else uses it."""
        tree, edits = self._script.tree, list[Edit]()
        names: dict[str, None] = {}
        for assign in tree.of(cst.Assign):
            if len(assign.targets) != 1 or not isinstance(target := assign.targets[0].target, cst.Name):
                continue
            value = assign.value
            makes = isinstance(value, cst.Call) and self._script.path_of(value) == ["argparse.ArgumentParser"]
            if makes or (isinstance(value, cst.Call) and self._is_method(value, names, _GROUPS)):
                names[target.value] = None
                edits.append(Edit(assign, ""))
        kept = {id(reading), *(id(edit.node) for edit in edits)}
        for name in names:
            for use in self._script.mentions[name]:
                line = next((a for a in tree.ancestors(use) if isinstance(a, cst.BaseSmallStatement)), None)
                if line is None or id(line) in kept:
                    continue
                called = line.value if isinstance(line, cst.Expr) else None
                wanted = ("add_argument", "set_defaults")
                if not isinstance(called, cst.Call) or not self._is_method(called, names, wanted):
                    raise Unsure
                kept.add(id(line))
                edits.append(Edit(line, ""))
        if not names or any(not self._is_gone(flag.node, kept) for flag in self._flags):
            raise Unsure
        return edits

    def _is_method(self, call: cst.Call, names: dict[str, None], methods: Sequence[str]) -> bool:
        match call.func:
            case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=method)):
                return base in names and method in methods
        return False

    def _is_gone(self, node: cst.CSTNode, kept: set[int]) -> bool:
        return any(id(above) in kept for above in self._script.tree.ancestors(node))
