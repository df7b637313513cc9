"""A small call graph: which functions of the script can be reached from where.

Calls are resolved through names and aliases; a method is resolved by its name alone, since the types of objects are
not known. A function that is named and not called is handed on (to `map`, a hook, a partial, a list that is gone
through), so whoever names it may run it; whoever reads a property runs it. So the graph has edges that never happen,
and misses only what is called through data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import libcst as cst

from reviewer.engine import Tree
from reviewer.scope import Binding, Function, parameters
from reviewer.values import Own, Values

_STARTED_BY_CLASS = ("__init__", "__post_init__", "__call__", "forward")
_READ, _WRITTEN = frozenset({"property", "cached_property"}), frozenset({"setter", "deleter"})
_STEPS_OF_A_BASE = 8


class Calls:
    """Edges between the functions of one script. The key of the module itself is the id of its node.

    `mentions` are all names of the script, by what they say.
    """

    def __init__(self, values: Values, mentions: Mapping[str, Sequence[cst.Name]]) -> None:
        tree, scopes = values.tree, values.scopes
        self._values = values
        self.sites: dict[int, list[tuple[cst.Call, Own]]] = defaultdict(list)  # id(function) -> who calls it
        self._edges: dict[int, set[int]] = defaultdict(set)
        self._hubs = 0
        self._starting: dict[int, frozenset[int]] = {}  # id(class) -> what runs with an object of it
        self.functions: dict[int, Function] = {}
        for function in tree.both(cst.FunctionDef, cst.Lambda):
            self.functions[id(function)] = function
            outer = scopes.function_of(function)
            if outer is not None:
                self._edges[id(outer)].add(id(function))  # defined there, so probably used there
            for mark in function.decorators if isinstance(function, cst.FunctionDef) else ():
                for value in values.of(mark.decorator):
                    if isinstance(value, Own) and not isinstance(value.node, cst.ClassDef):
                        self._edges[id(function)].add(id(value.node))  # what it makes of it runs in its place
        for call in tree.of(cst.Call):
            holder = scopes.function_of(call)
            start = id(holder) if holder is not None else id(tree.module)
            for value in values.of(call.func):
                if isinstance(value, Own):
                    self.sites[id(value.node)].append((call, value))
                    self._edges[start].update(self._started(value.node))
            if isinstance(call.func, cst.Name) and call.func.value == "getattr":
                found = (value.node for value in values.of(call) if isinstance(value, Own))
                self._edges[start].update(id(node) for node in found if not isinstance(node, cst.ClassDef))
        self._hand_on(mentions)

    def _started(self, node: Function | cst.ClassDef) -> frozenset[int]:
        if not isinstance(node, cst.ClassDef):
            return frozenset({id(node)})
        if id(node) not in self._starting:
            members = (self._members(node, name) for name in _STARTED_BY_CLASS)
            self._starting[id(node)] = frozenset(id(b.node) for found in members for b in found if b.kind == "def")
        return self._starting[id(node)]

    def _members(self, cls: cst.ClassDef, name: str) -> Iterator[Binding]:
        """Yield what a class and the classes of the file above it have under a name."""
        scopes, seen, todo = self._values.scopes, {id(cls)}, [cls]
        while todo:
            above = todo.pop()
            yield from scopes.scope(above).names.get(name, ())
            for base in above.bases:
                self._values.budget.spend(_STEPS_OF_A_BASE)
                for value in self._values.of(base.value):
                    if isinstance(value, Own) and isinstance(value.node, cst.ClassDef) and id(value.node) not in seen:
                        seen.add(id(value.node))
                        todo.append(value.node)

    def _hand_on(self, mentions: Mapping[str, Sequence[cst.Name]]) -> None:
        """Add the edges to functions that are named and not called, and to properties that are read or set."""
        tree, scopes = self._values.tree, self._values.scopes
        alike: dict[str, list[cst.FunctionDef]] = defaultdict(list)
        for function in tree.of(cst.FunctionDef):
            alike[function.name.value].append(function)
        for word, functions in alike.items():
            methods = [f for f in functions if isinstance(scopes.of(f).node, cst.ClassDef)]
            found = {
                "handed": [f for f in methods if not _marked(f, _WRITTEN)],
                "called": [f for f in methods if _marked(f, _READ)],
                "set": [f for f in methods if _marked(f, _WRITTEN)],
            }
            hubs: dict[tuple[str, int], int] = {}  # one node stands for all that are meant: many names, many functions
            for name in mentions.get(word, ()):
                node, use = _used(tree, name)
                if use == "" or (node is name and use != "handed"):
                    continue
                cls = self._class_of(node)
                bindings = scopes.of(name).find(word) if node is name else ()
                key = use, id(cls) if cls is not None else id(bindings) if node is name else 0
                if key not in hubs:
                    known = self._members(cls, word) if cls is not None else bindings
                    meant = (
                        [b.node for b in known if b.kind == "def"] if cls is not None or node is name else found[use]
                    )
                    hubs[key] = self._hub([f for f in meant if isinstance(f, cst.FunctionDef)])
                holder = scopes.function_of(name)
                self._edges[id(holder) if holder is not None else id(tree.module)].add(hubs[key])

    def _class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class of the file that an attribute is named of, `A` of `A.part`; only there methods are known."""
        if not isinstance(node, cst.Attribute) or not isinstance(node.value, cst.Name):
            return None
        found = self._values.of(node.value)
        one = found[0] if len(found) == 1 else None
        return one.node if isinstance(one, Own) and isinstance(one.node, cst.ClassDef) else None

    def _hub(self, functions: Sequence[cst.FunctionDef]) -> int:
        """Return the id of a node that leads to these functions; no node of the script has a negative one."""
        if len(functions) == 1:
            return id(functions[0])
        self._hubs -= 1
        self._edges[self._hubs] = {id(f) for f in functions}
        return self._hubs

    def reachable(self, starts: Iterable[cst.CSTNode], but: Collection[int] = ()) -> set[int]:
        """Return the ids of all functions that can run once one of these starts, themselves included.

        Functions whose ids are in `but` are not entered.
        """
        seen: set[int] = set(but)
        todo = [id(s) for s in starts]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(self._edges.get(node, ()))
        return {node for node in seen if node > 0}.difference(but)

    def reaching(self, ends: Iterable[int]) -> set[int]:
        """Return the ids of all functions from which one of these, given by their ids, can be reached."""
        callers: dict[int, set[int]] = defaultdict(set)
        for start, called in self._edges.items():
            for one in called:
                callers[one].add(start)
        seen: set[int] = set()
        todo = list(ends)
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(callers.get(node, ()))
        return {node for node in seen if node > 0}

    def arguments(self, helper: Function, call: cst.Call, own: Own) -> dict[str, cst.BaseExpression]:
        """Map the helper's parameters to the expressions of one call of it, with defaults filled in."""
        params = parameters(helper)
        scopes = self._values.scopes
        bound = isinstance(call.func, cst.Attribute) and isinstance(scopes.of(helper).node, cst.ClassDef)
        if bound and not _is_static(helper):
            params = params[1:]
        found = {p.name.value: p.default for p in params if p.default is not None}
        position = 0
        for arg in (*own.given, *call.args):
            if arg.keyword is not None:
                found[arg.keyword.value] = arg.value
            elif not arg.star and position < len(params):
                found[params[position].name.value] = arg.value
                position += 1
        return found


def _is_static(helper: Function) -> bool:
    marks = helper.decorators if isinstance(helper, cst.FunctionDef) else ()
    return any(isinstance(m.decorator, cst.Name) and m.decorator.value == "staticmethod" for m in marks)


def _marked(function: cst.FunctionDef, words: Collection[str]) -> bool:
    marks = (m.decorator for m in function.decorators)
    return any((m.attr.value if isinstance(m, cst.Attribute) else getattr(m, "value", "")) in words for m in marks)


def _used(tree: Tree, name: cst.Name) -> tuple[cst.CSTNode, str]:
    """Return the name, or the attribute that it is of, and its use: handed on, called, set; "" where it is no value."""
    node: cst.CSTNode = name
    above = tree.parent(node)
    if isinstance(above, cst.Attribute) and above.attr is name:
        node, above = above, tree.parent(above)
    match above:
        case cst.Arg(keyword=label) | cst.Param(name=label) | cst.FunctionDef(name=label) if label is name:
            return node, ""
        case cst.Decorator() | cst.ImportAlias() | cst.NameItem():
            return node, ""
        case cst.Attribute() if isinstance(tree.parent(above), cst.Decorator):
            return node, ""  # `@width.setter`
        case cst.Call(func=called) if called is node:
            return node, "handed" if _is_super(node) else "called"  # what `super()` is, nobody else knows
        case cst.AssignTarget() | cst.Del() | cst.AsName():
            return node, "set"
        case cst.AnnAssign(target=target) | cst.NamedExpr(target=target) if target is node:
            return node, "set"
        case cst.For(target=target) | cst.CompFor(target=target) if target is node:
            return node, "set"
    return node, "handed"


def _is_super(node: cst.CSTNode) -> bool:
    match node:
        case cst.Attribute(value=cst.Call(func=cst.Name(value="super"))):
            return True
    return False
