"""E207 stateful-forward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.evaluation.kept import Kept, Key
from reviewer.evaluation.made_of import MadeOf
from reviewer.evaluation.outside import outside
from reviewer.evaluation.training_only import only_in_training
from reviewer.evaluation.writes_kept import Write, writes
from reviewer.examples.stateful import HONEST, LOOKS_LIKE, STATEFUL
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script

_FLAGS = frozenset({"True", "False"})
_CASTS = frozenset(["to", "float", "half", "bfloat16", "type_as", "type", "cuda", "cpu", "contiguous", "detach"])


class StatefulForward(Rule):
    """Asks a person to look at a model that remembers something from one call to the next.

    What it looks for
        Attributes, buffers, names of the module, mutable defaults, variables of an enclosing function and hooks that
        `forward`, or what it runs, writes and that a later call can read: by assignment, by a method that changes
        its object, through an alias or a helper, by `next` of an iterator that is kept; files that it writes, and
        random numbers that its results are made of. A cache of constants (made of lengths, types and settings alone),
        what is never read again, and what each call writes anew before it reads it are only noted. What runs in
        training alone is not looked at.

    Why it is refused
        The scorer asks about many texts, in an order of its own. A model that remembers the texts before answers
        from more than it was given, and its score depends on the order.

    Do instead
        Use local variables. Keep constants in buffers that `__init__` fills; what is learned belongs in parameters.
    """

    code = "E207"

    VALID: ClassVar = HONEST + LOOKS_LIKE
    INVALID: ClassVar = STATEFUL

    def check(self, script: Script) -> Iterator[Found]:
        groups: dict[Key, list[Write]] = defaultdict(list)
        for write in writes(script):
            if not only_in_training(script, write.node):
                groups[write.key].append(write)
        if groups:
            judge = _Judge(script, groups)
            for key, found in groups.items():
                yield from judge.findings(key, found)
        for node, what in outside(script):
            yield Found(node, what, "Draw only where `self.training` says so, and keep nothing outside the call.")


class _Judge:
    def __init__(self, script: Script, groups: dict[Key, list[Write]]) -> None:
        self.script, self.groups = script, groups
        self.made_of, self.kept = MadeOf(script.modelled), Kept(script.modelled)

    def findings(self, key: Key, found: list[Write]) -> Iterator[Found]:
        reads = self._reads(key, found)
        places = {id(w.node): w.node for w in found}.values()
        if not reads and not any(w.used or w.how == "hook" for w in found):
            what, remedy = f"`forward` writes {key}, and nothing that it runs reads it.", "Nothing to do."
            yield from (Found(node, what, remedy, "info") for node in places)
        elif self._is_constant(found):
            what, remedy = f"`forward` keeps {key}, a cache of constants.", "Nothing to do."
            yield from (Found(node, what, remedy, "info") for node in places)
        elif self._is_new(found, reads):
            what, remedy = f"`forward` writes {key} anew in each call before it reads it.", "Nothing to do."
            yield from (Found(node, what, remedy, "info") for node in places)
        elif any(w.how == "hook" for w in found):
            what = "`forward` installs a hook, which changes what later calls compute."
            yield from (Found(node, what, "Call what the hook does directly.") for node in places)
        else:
            what = f"`forward` changes {key}, and a later call can read what this one left."
            remedy = "Keep it in a local variable, or make it once in `__init__`."
            yield from (Found(node, what, remedy) for node in places)

    def _reads(self, key: Key, found: list[Write]) -> list[cst.Name]:
        """Return the names by which the model reads it, but those in statements that write the same thing."""
        script, model = self.script, self.script.modelled
        if key.name == "…":
            return [n for w in found if (n := w.part) is not None] or script.mentions.get("self", [])[:1]
        writing = {id(w.node) for w in found if not self._gives_more(w.node)}
        parts = {id(w.part) for w in found}
        reads = []
        for name in script.mentions.get(key.name, ()):
            model.budget.spend()
            above = script.tree.parent(name)
            is_attribute = isinstance(above, cst.Attribute) and above.attr is name
            if id(name) in parts or (key.kind == "attribute") != is_attribute or isinstance(above, cst.Param):
                continue
            if isinstance(above, cst.Arg) and above.keyword is name:
                continue
            if isinstance(above, cst.NameItem) or not model.runs(name) or self._is_in(name, writing):
                continue
            if not only_in_training(script, name):
                reads.append(name)
        for text in self._named_in_text(key):
            reads.append(text)
        return reads

    def _named_in_text(self, key: Key) -> Iterator[cst.Name]:
        """Yield the `getattr`s, and the `__dict__`s and `vars`, that read an attribute by its name as a text."""
        script = self.script
        for name in script.mentions.get("getattr", ()) if key.kind == "attribute" else ():
            call = script.tree.parent(name)
            named = call.args[1].value if isinstance(call, cst.Call) and len(call.args) > 1 else None
            if named is not None and script.modelled.runs(name) and script.values.constant(named) == key.name:
                yield name
        for word in ("__dict__", "vars") if key.kind == "attribute" else ():
            for name in script.mentions.get(word, ()):
                table = script.tree.parent(name)
                taker = script.tree.parent(table) if table is not None else None
                asked = script.tree.parent(taker) if isinstance(taker, cst.Attribute) else taker
                if isinstance(script.tree.parent(taker or name), cst.AssignTarget) or not script.modelled.runs(name):
                    continue
                named = _first_in(asked)
                if named is not None and script.values.constant(named) == key.name:
                    yield name

    def _gives_more(self, statement: cst.CSTNode) -> bool:
        """Tell whether a statement makes something else of what it keeps: `y, self.state = self.rnn(x, self.state)`."""
        if not isinstance(statement, cst.Assign) or not isinstance(statement.value, cst.Call):
            return False
        return any(isinstance(t.target, cst.Tuple | cst.List) for t in statement.targets)

    def _is_in(self, node: cst.CSTNode, statements: set[int]) -> bool:
        for above in self.script.tree.ancestors(node):
            if id(above) in statements:
                return True
            if isinstance(above, cst.BaseCompoundStatement):
                return False
        return False

    def _is_constant(self, found: list[Write]) -> bool:
        """Tell whether all that is kept is made of shapes, types and settings."""
        lasting = [w for w in found if w.how != "drop"]
        return bool(lasting) and all(self._keeps_constant(w) for w in lasting)

    def _keeps_constant(self, write: Write) -> bool:
        if write.how != "set" or any(self.made_of.data(v) for v in write.values):
            return False
        value = write.values[0] if write.values else None
        if isinstance(value, cst.Integer) or (isinstance(value, cst.Name) and value.value in _FLAGS):
            return self._beside_a_cache(write)
        return value is not None and (
            not self._reads_itself(write) or self._is_maximum(value) or self._is_cast(value, write.key)
        )

    def _reads_itself(self, write: Write) -> bool:
        names = [n for n in self.script.mentions.get(write.key.name, ()) if n is not write.part]
        if write.key.kind == "attribute":  # of `self.last = last`, the second is another
            names = [n for n in names if isinstance(a := self.script.tree.parent(n), cst.Attribute) and a.attr is n]
        return any(self._is_in(n, {id(write.node)}) and not self._is_method(n) for n in names)

    def _is_method(self, name: cst.Name) -> bool:
        """Tell whether a name is that of a method that happens to be called like what is kept: `angles.cos()`."""
        above = self.script.tree.parent(name)
        called = isinstance(holder := self.script.tree.parent(above or name), cst.Call) and holder.func is above
        return called and isinstance(above, cst.Attribute) and getattr(above.value, "value", "") != "self"

    def _is_maximum(self, value: cst.CSTNode) -> bool:
        """Tell whether a value is `max(self.longest, length)`, which says only how long a cache is."""
        return isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "max"

    def _is_cast(self, value: cst.CSTNode, key: Key) -> bool:
        """Tell whether a value is `self.table.to(x.device)`: the same on another device or in another type."""
        while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _CASTS:
            value = value.func.value
        return isinstance(value, cst.Attribute | cst.Name) and self.kept.of(value) == key

    def _beside_a_cache(self, write: Write) -> bool:
        """Tell whether a flag stands in the block that fills a cache of constants: it says that it is filled."""
        block = self.script.tree.enclosing(write.node, cst.IndentedBlock)
        for key, others in self.groups.items():
            if key != write.key:
                for other in others:
                    near = self.script.tree.enclosing(other.node, cst.IndentedBlock) is block
                    value = other.values[0] if other.values else None
                    literal = isinstance(value, cst.Integer | cst.Name)
                    if near and not literal and other.how == "set" and not any(map(self.made_of.data, other.values)):
                        return isinstance(self.script.tree.parent(block), cst.If) if block is not None else False
        return False

    def _is_new(self, found: list[Write], reads: list[cst.Name]) -> bool:
        """Tell whether every call writes it, whole and not made of itself, before anything reads it."""
        if any(w.how != "set" or w.used or w.key.name == "…" or not self._is_whole(w) for w in found):
            return False
        first: dict[int, int] = {}
        order = {id(n): i for i, n in enumerate(self.script.mentions[found[0].key.name])}
        for write in found:
            if self._reads_itself(write) or write.part is None:
                return False
            holder = id(self.script.scopes.function_of(write.node))
            if not self._is_conditional(write.node):
                first[holder] = min(first.get(holder, len(order)), order.get(id(write.part), len(order)))
        if not first:
            return False
        for read in reads:
            holder = id(self.script.scopes.function_of(read))
            if holder in first:
                if order.get(id(read), -1) < first[holder]:
                    return False
            elif not self._follows_a_call(read):
                return False
        return True

    def _is_whole(self, write: Write) -> bool:
        """Tell whether an attribute or a name is set, and not a part of it or through a method."""
        return isinstance(write.node, cst.Assign | cst.AnnAssign) and not any(
            isinstance(t.target, cst.Subscript) for t in getattr(write.node, "targets", ())
        )

    def _is_conditional(self, node: cst.CSTNode) -> bool:
        for above in self.script.tree.ancestors(node):
            if isinstance(above, cst.FunctionDef):
                return False
            if isinstance(above, cst.If | cst.IfExp | cst.Try | cst.While | cst.Match | cst.For):
                return True
        return False

    def _follows_a_call(self, read: cst.Name) -> bool:
        """Tell whether `block.aux` is read after `block(x)`, or after the loop that calls all blocks."""
        names = self._path(self.script.tree.parent(read))
        function = self.script.scopes.function_of(read)
        wanted = next((n for n in names if n.value not in ("self",)), None)
        if wanted is None or function is None:
            return False
        root = self._drawn_from(wanted)
        for name in self.script.mentions.get(root, ()):
            self.script.modelled.budget.spend()
            if name is wanted:
                return False
            if self.script.scopes.function_of(name) is function:
                return self._is_called(name)  # the first place in this function that names it
        return False

    def _path(self, node: cst.CSTNode | None) -> list[cst.Name]:
        """Return the names of `self.a.b.c` without the last, from the left."""
        found: list[cst.Name] = []
        node = node.value if isinstance(node, cst.Attribute) else None
        while isinstance(node, cst.Attribute | cst.Subscript):
            if isinstance(node, cst.Attribute):
                found.append(node.attr)
            node = node.value
        return [node, *reversed(found)] if isinstance(node, cst.Name) else []

    def _drawn_from(self, name: cst.Name) -> str:
        """Return what a loop's variable is drawn from: `blocks` for the `block` of `for block in self.blocks`."""
        for binding in self.script.scopes.of(name).find(name.value):
            if binding.kind == "drawn" and isinstance(binding.node, cst.Attribute):
                return binding.node.attr.value
        return name.value

    def _is_called(self, name: cst.Name) -> bool:
        above = self.script.tree.parent(name)
        node: cst.CSTNode = above if isinstance(above, cst.Attribute) and above.attr is name else name
        holder = self.script.tree.parent(node)
        while isinstance(holder, cst.Subscript | cst.Attribute):
            node, holder = holder, self.script.tree.parent(holder)
        if isinstance(holder, cst.Call) and holder.func is node:
            return True
        loop = self.script.tree.enclosing(name, cst.For)
        return (
            loop is not None
            and isinstance(loop.target, cst.Name)
            and any(
                self._is_called(n)
                for n in self.script.mentions.get(loop.target.value, ())
                if n is not name and self.script.tree.enclosing(n, cst.For) is loop and n is not loop.target
            )
        )


def _first_in(asked: cst.CSTNode | None) -> cst.BaseExpression | None:
    """Return the `k` of `table[k]` and `table.get(k)`."""
    match asked:
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(value))]) | cst.Call(args=[cst.Arg(value), *_]):
            return value
    return None
