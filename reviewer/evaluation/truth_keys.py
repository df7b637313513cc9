"""Keys that are made of a context and of the token to be predicted, and where tables are looked up by them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.made_of import MadeOf
from reviewer.evaluation.truths import Truths
from reviewer.matchers.named_calls import word_of
from reviewer.script import Script
from reviewer.values import Own

_MIXING = cst.BitXor | cst.Multiply | cst.LeftShift | cst.Modulo | cst.BitOr
_MIXERS = ("xor", "hash", "bitwise")
_LOOKS = frozenset(["gather", "take", "index_select", "take_along_dim", "embedding", "get", "searchsorted", "isin"])
_CASTS = frozenset(["long", "int", "to", "astype", "view", "reshape", "remainder", "fmod", "abs", "flatten", "item",
                    "numpy", "cpu", "tolist", "clamp", "unsqueeze", "squeeze"])  # fmt: skip
_HOPS = 4


class TruthKeys:
    """Answers for one script."""

    def __init__(self, script: Script, truths: Truths) -> None:
        self._script, self._truths = script, truths
        self._made_of = MadeOf(script.modelled)

    def looked_up(self) -> Iterator[cst.CSTNode]:
        """Yield the places that read a table under such a key."""
        seen: set[int] = set()
        for word in sorted(self._truths.words()):
            for name in self._script.mentions.get(word, ()):
                if not self._truths.is_truth(name):
                    continue
                for key in self._keys(name):
                    yield from (place for place in self._readings(key) if id(place) not in seen)
                    seen.update(id(place) for place in self._readings(key))

    def _keys(self, name: cst.Name) -> Iterator[cst.CSTNode]:
        """Yield what mixes the truth with other data: `context * 31 ^ target`, `hash(context, target)`."""
        node: cst.CSTNode = name
        mixed = False
        for above in self._script.tree.ancestors(name):
            self._script.modelled.budget.spend()
            if isinstance(above, cst.BinaryOperation):
                other = above.right if above.left is node else above.left
                mixed |= isinstance(above.operator, _MIXING)
                if (mixed or _has_mixing(other)) and self._made_of.data(other) and not self._is_truth(other):
                    yield above
                    return
            elif isinstance(above, cst.Call) and node in [*above.args]:
                others = [a.value for a in above.args if a is not node]
                if self._mixes(above) and any(self._made_of.data(o) and not self._is_truth(o) for o in others):
                    yield above
                    return
                if not self._casts(above):
                    return
            elif not isinstance(above, cst.Arg | cst.Attribute | cst.Call | cst.Subscript):
                return
            if isinstance(above, cst.Subscript) and above.value is not node:
                return
            if isinstance(above, cst.Call) and above.func is node and not self._casts(above):
                return
            node = above

    def _is_truth(self, node: cst.CSTNode) -> bool:
        while isinstance(node, cst.Call | cst.Attribute | cst.Subscript):
            node = node.func if isinstance(node, cst.Call) else node.value
        return isinstance(node, cst.Name) and self._truths.is_truth(node)

    def _casts(self, call: cst.Call) -> bool:
        name = word_of(call)
        return name in _CASTS or name in ("int", "uint64", "int64")

    def _mixes(self, call: cst.Call) -> bool:
        """Tell whether a call makes a hash of its arguments, by its name or by what the script does in it."""
        name = word_of(call)
        if any(word in name.lower() for word in _MIXERS):
            return True
        for value in self._script.values.of(call.func):
            if isinstance(value, Own):
                returns = self._script.scopes.returns.get(id(value.node), [])[:2]
                return any(_has_mixing(r) for r in returns)
        return False

    def _readings(self, key: cst.CSTNode, hops: int = 0) -> Iterator[cst.CSTNode]:
        """Yield where a key is used to read, through the names it is given."""
        below = key
        for above in self._script.tree.ancestors(key):
            self._script.modelled.budget.spend()
            if isinstance(above, cst.Subscript) and below is not above.value:
                if self._is_read(above):
                    yield above
                return
            if isinstance(above, cst.Call) and below is not above.func:
                name = word_of(above)
                if self._looks_up(above, name):
                    if not self._counts(above):
                        yield above
                    return
                if not self._casts(above):
                    return
            if isinstance(above, cst.Assign | cst.AugAssign | cst.AnnAssign | cst.NamedExpr):
                if hops < _HOPS and below is above.value:
                    yield from self._of_name(above, hops)
                if not isinstance(above, cst.NamedExpr):
                    return
            elif isinstance(above, cst.BaseStatement | cst.BaseSmallStatement | cst.Comparison):
                return
            below = above

    def _of_name(self, statement: cst.CSTNode, hops: int) -> Iterator[cst.CSTNode]:
        targets: list[cst.CSTNode] = []
        if isinstance(statement, cst.Assign):
            targets += [t.target for t in statement.targets]
        if isinstance(statement, cst.AugAssign | cst.AnnAssign | cst.NamedExpr):
            targets = [statement.target]
        for target in targets:
            for name in self._script.mentions.get(target.value, ()) if isinstance(target, cst.Name) else ():
                same = self._script.scopes.function_of(name) is self._script.scopes.function_of(target)
                if same and name is not target:
                    yield from self._readings(name, hops + 1)

    def _looks_up(self, call: cst.Call, name: str) -> bool:
        if name in _LOOKS:
            return True
        thing = call.func.value if isinstance(call.func, cst.Attribute) else None
        own = isinstance(thing, cst.Name) and thing.value == "self"
        return own and len(call.args) == 1 and not self._script.values.of(call.func)  # an embedding

    def _is_read(self, node: cst.Subscript) -> bool:
        """Tell whether a table is read here, and not counted in."""
        above = self._script.tree.parent(node)
        if isinstance(above, cst.AssignTarget | cst.AugAssign) and getattr(above, "target", None) is node:
            return False
        return not self._counts(node)

    def _counts(self, node: cst.CSTNode) -> bool:
        """Tell whether a reading belongs to `table[key] = table.get(key, 0) + 1`, which counts."""
        table = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
        table = node.value if isinstance(node, cst.Subscript) else table
        assign = self._script.tree.enclosing(node, cst.Assign)
        return (
            table is not None
            and assign is not None
            and any(isinstance(t.target, cst.Subscript) and t.target.value.deep_equals(table) for t in assign.targets)
        )


def _has_mixing(node: cst.CSTNode) -> bool:
    """Tell whether an expression multiplies, shifts or xors by itself."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, _MIXING) or _has_mixing(node.left) or _has_mixing(node.right)
    return False
