"""What a name was last set to before a use of it, in the order of the text: layers set `x` anew on every line.

A heuristic for review alone: of branches, the one that stands last counts, and what a loop brings round does not.
"""

from __future__ import annotations

from bisect import bisect_right

import libcst as cst

from reviewer.script import Script

_MOST = 32  # settings that are looked at before one use
_Setting = tuple[int, cst.CSTNode, cst.CSTNode, bool]  # where among the mentions, the statement, the value, if drawn


class LastSet:
    """Answers for one script, for names inside functions."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._places: dict[str, dict[int, int]] = {}
        self._settings: dict[tuple[int, str], list[_Setting]] = {}

    def before(self, use: cst.Name) -> tuple[cst.CSTNode, bool] | None:
        """Return the value that a name has there, and whether it is only drawn from that value."""
        function = self._script.scopes.function_of(use)
        if not isinstance(function, cst.FunctionDef):
            return None
        if use.value not in self._places:
            self._read(use.value)
        place = self._places[use.value].get(id(use), -1)
        settings = self._settings.get((id(function), use.value), [])
        count = bisect_right(settings, place, key=lambda setting: setting[0])
        around = {id(above) for above in self._script.tree.ancestors(use)} if count else set()
        for _, statement, value, drawn in reversed(settings[max(0, count - _MOST) : count]):
            self._script.modelled.budget.spend()
            inside = id(statement) in around and not (isinstance(statement, cst.For) and id(statement.body) in around)
            if not inside and not self._is_in_other_arm(statement, around):
                return value, drawn
        return None

    def _is_in_other_arm(self, statement: cst.CSTNode, around: set[int]) -> bool:
        """Tell whether a statement stands under an `if` whose `else` the use stands under."""
        below = statement
        for above in self._script.tree.ancestors(statement):
            if id(above) in around:
                return isinstance(above, cst.If) and below is above.body
            below = above
        return False

    def _read(self, name: str) -> None:
        places = self._places[name] = {}
        for at, mention in enumerate(self._script.mentions.get(name, ())):
            self._script.budget.spend()
            places[id(mention)] = at
            statement, value, drawn = self._setting(mention)
            if statement is not None and value is not None:
                function = self._script.scopes.function_of(mention)
                self._settings.setdefault((id(function), name), []).append((at, statement, value, drawn))

    def _setting(self, name: cst.Name) -> tuple[cst.CSTNode | None, cst.CSTNode | None, bool]:
        """Return the statement that sets a name, its value, and whether the name is a part of that."""
        node: cst.CSTNode | None = self._script.tree.parent(name)
        below: cst.CSTNode = name
        way: list[int] = []
        while isinstance(node, cst.Element | cst.Tuple | cst.List):
            if isinstance(node, cst.Tuple | cst.List):
                way.append(next((i for i, e in enumerate(node.elements) if e is below), 0))
            below, node = node, self._script.tree.parent(node)
        statement: cst.CSTNode | None = node
        value: cst.CSTNode | None = None
        match node:
            case cst.AssignTarget():
                statement = self._script.tree.parent(node)
                value = statement.value if isinstance(statement, cst.Assign) else None
            case cst.AnnAssign(target=target, value=given) if target is below:
                value = given
            case cst.NamedExpr(target=target, value=given) if target is below:
                value = given
            case cst.For(target=target, iter=given) if target is below:
                return node, given, True
        for index in reversed(way):
            if not isinstance(value, cst.Tuple | cst.List) or index >= len(value.elements):
                return statement, value, True
            value = value.elements[index].value
        return statement, value, False
