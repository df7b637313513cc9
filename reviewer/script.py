"""A parsed script with everything that rules ask about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from reviewer.calls import Calls
from reviewer.context import Context
from reviewer.engine import Tree
from reviewer.launch import LaunchFacts
from reviewer.layout import Layout
from reviewer.packed.decoders import Unreadable
from reviewer.packed.running import is_packed
from reviewer.packed.shellvalues import Unpacked
from reviewer.policy import Policy
from reviewer.scope import parameters
from reviewer.unwrap import unpack
from reviewer.values import Values, canonical

if TYPE_CHECKING:
    from reviewer.baselines.inherited import Inherited
    from reviewer.baselines.sections import Graded
    from reviewer.evaluation.forks import Fork
    from reviewer.evaluation.modelled import Modelled
    from reviewer.files.pathflow import Paths


MOST_LAYERS = 4


class Script:
    """One text under one policy. Raises libcst.ParserSyntaxError if libcst cannot read the text."""

    def __init__(
        self,
        text: str,
        policy: Policy,
        launch: LaunchFacts | None = None,
        layer: int = 0,
        outside: Sequence[cst.CSTNode] = (),
        context: Context | None = None,
    ) -> None:
        self.text = text
        self.policy = policy
        self.launch = launch
        self.context = context or Context()
        self.layer = layer  # how many shells it was packed in
        self.handed: dict[str, Any] = {}  # by those shells: names and what they are
        self.tree = Tree(text, outside)
        self.values = Values(self.tree)
        self.scopes = self.values.scopes
        self.budget = self.values.budget

    @cached_property
    def layout(self) -> Layout:
        """Where every node stands, made for repairs alone. Raises Unplaced where that cannot be said."""
        return Layout(self.text, self.tree.module)

    @cached_property
    def calls(self) -> Calls:
        """The call graph, made when the first rule asks for it."""
        return Calls(self.values, self.mentions)

    def path_of(self, call: cst.Call) -> list[str]:
        """Return the dotted paths of what a call calls."""
        return self.values.callees(call)

    @cached_property
    def called(self) -> dict[str, list[cst.Call]]:
        """Every call under each dotted path that it may call, in source order. Rules look up what they know."""
        found: dict[str, list[cst.Call]] = defaultdict(list)
        for call in self.tree.of(cst.Call):
            for path in self.values.callees(call):
                found[path].append(call)
        return dict(found)

    def calling(self, paths: Iterable[str]) -> Iterator[tuple[str, cst.Call]]:
        """Yield each call of one of these paths with the path."""
        return ((path, call) for path in paths for call in self.called.get(path, ()))

    @cached_property
    def imports(self) -> list[tuple[str, str]]:
        """Every name that an import binds somewhere, with the dotted path that it stands for."""
        every = self.scopes.everything()
        return [(name, canonical(b.path)) for name, bindings in every for b in bindings if b.kind == "ref"]

    @cached_property
    def mentions(self) -> dict[str, list[cst.Name]]:
        """Every place where a name stands, alone or as an attribute, by that name."""
        found: dict[str, list[cst.Name]] = defaultdict(list)
        for name in self.tree.of(cst.Name):
            found[name.value].append(name)
        return found

    @cached_property
    def handed_on(self) -> set[str]:
        """The names of functions of this file that stand somewhere else than in their definition or a call of them."""
        found = set()
        for name in {f.name.value for f in self.tree.of(cst.FunctionDef)}:
            if any(self._is_handed_on(node) for node in self.mentions[name]):
                found.add(name)
        return found

    def _is_handed_on(self, name: cst.Name) -> bool:
        node: cst.CSTNode = name
        above = self.tree.parent(node)
        if isinstance(above, cst.Attribute) and above.attr is node:
            node, above = above, self.tree.parent(above)
        if isinstance(above, cst.Arg):
            return above.keyword is not node
        return not (
            isinstance(above, cst.FunctionDef | cst.Param) or (isinstance(above, cst.Call) and above.func is node)
        )

    @cached_property
    def _handed(self) -> dict[str, list[cst.Name | cst.Attribute]]:
        """Every name and attribute that is an argument, part of a list or dict, or a result, by its last word."""
        found: dict[str, list[cst.Name | cst.Attribute]] = defaultdict(list)
        for holder in (*self.tree.both(cst.Arg, cst.Element), *self.tree.both(cst.DictElement, cst.Return)):
            value = holder.value
            if type(value) is cst.Attribute:
                found[value.attr.value].append(value)
            elif type(value) is cst.Name:
                found[value.value].append(value)
        return dict(found)

    def handing_on(self, paths: Collection[str]) -> Iterator[tuple[str, cst.Name | cst.Attribute]]:
        """Yield where one of these functions is handed on and not called, with its path: `map(torch.load, files)`."""
        words = {path.rpartition(".")[2] for path in paths} | {name for name, path in self.imports if path in paths}
        for word in sorted(words & self._handed.keys()):
            for node in self._handed[word]:
                yield from ((path, node) for path in self.values.paths(node) if path in paths)

    @cached_property
    def called_names(self) -> set[str]:
        """Every plain name that is called somewhere."""
        return {c.func.value for c in self.tree.of(cst.Call) if isinstance(c.func, cst.Name)}

    @cached_property
    def forwards(self) -> list[cst.FunctionDef]:
        """Every `forward` or `__call__` method, and `load_for_eval`."""
        wanted = []
        for function in self.tree.of(cst.FunctionDef):
            method = isinstance(self.scopes.of(function).node, cst.ClassDef)
            name = function.name.value
            if (method and name in ("forward", "__call__")) or (not method and name == "load_for_eval"):
                wanted.append(function)
        return wanted

    @cached_property
    def forks(self) -> list[Fork]:
        """What parts training from evaluation; two rules read it."""
        from reviewer.evaluation.forks import find_forks  # needs this class

        return find_forks(self)

    @cached_property
    def modelled(self) -> Modelled:
        """What runs when the scored model is called; several rules ask."""
        from reviewer.evaluation.modelled import Modelled  # needs this class

        return Modelled(self)

    @cached_property
    def sections(self) -> tuple[Graded, ...]:
        """The frozen sections with their grades; a rule and the report read them."""
        from reviewer.baselines.sections import grades  # needs this class

        return grades(self)

    @cached_property
    def inherited(self) -> Inherited:
        """Which findings are those of the kit's own baseline."""
        from reviewer.baselines.inherited import Inherited  # reads the baseline as a script

        return Inherited(self)

    @cached_property
    def paths(self) -> Paths:
        """What expressions that name files can be; what has been followed once is remembered for every rule."""
        from reviewer.files.pathflow import Paths  # needs this class

        return Paths(self)

    @cached_property
    def packed(self) -> bool:
        """Whether the text is a shell around code that it decodes and executes."""
        return self.shell is not None or is_packed(self)

    @cached_property
    def unpacked(self) -> Unpacked | Unreadable | None:
        """What the text executes if it is nothing but a shell, or why that cannot be read."""
        last = self.last_call
        if last is None or not (isinstance(last.func, cst.Name) and last.func.value in ("exec", "eval")):
            return None
        found = unpack(self.tree.syntax())
        if isinstance(found, Unpacked) and self.layer >= MOST_LAYERS:
            return Unreadable(f"it is packed more than {MOST_LAYERS} times")
        return found

    @cached_property
    def shell(self) -> cst.Call | None:
        """The call that executes the unpacked text, where that can be read."""
        return self.last_call if isinstance(self.unpacked, Unpacked) else None

    @property
    def last_call(self) -> cst.Call | None:
        """The call that is the last statement, where a shell executes what it carries."""
        body = self.tree.module.body
        last = body[-1] if body else None
        statement = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
        call = statement.value if isinstance(statement, cst.Expr) else None
        return call if isinstance(call, cst.Call) else None

    def on_import(self) -> Iterator[cst.CSTNode]:
        """Yield what runs when the text is imported under another name than `__main__`: statements, parts of some."""
        yield from self._running(self.tree.module.body)

    def _running(self, body: object) -> Iterator[cst.CSTNode]:
        for statement in body if isinstance(body, list | tuple) else ():
            if isinstance(statement, cst.If):
                yield from self._branch(statement)
            elif isinstance(statement, cst.ClassDef):
                yield from (*statement.decorators, *statement.bases)
                yield from self._running(statement.body.body)
            elif isinstance(statement, cst.With):
                yield from statement.items
                yield from self._running(statement.body.body)
            elif isinstance(statement, cst.Try | cst.TryStar):
                for part in (statement, *statement.handlers, statement.orelse, statement.finalbody):
                    yield from self._running(part.body.body) if part is not None else ()
            elif isinstance(statement, cst.FunctionDef):  # its body waits for a call
                yield from statement.decorators
                yield from (p.default for p in parameters(statement) if p.default is not None)
            else:
                yield statement

    def _branch(self, node: cst.If) -> Iterator[cst.CSTNode]:
        is_main = self.asks_main(node.test)
        if is_main is not True:
            yield from self._running(node.body.body)
        if is_main is not False and isinstance(node.orelse, cst.If):
            yield from self._branch(node.orelse)
        elif is_main is not False and isinstance(node.orelse, cst.Else):
            yield from self._running(node.orelse.body.body)

    def asks_main(self, test: cst.CSTNode | None) -> bool | None:
        """Return True for `__name__ == "__main__"`, False for its opposite, None for any other question."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            inner = self.asks_main(test.expression)
            return None if inner is None else not inner
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
            parts = (self.asks_main(test.left), self.asks_main(test.right))
            return True if True in parts else None
        if isinstance(test, cst.Name):
            bindings = self.scopes.module.names.get(test.value, [])
            return self.asks_main(bindings[0].node) if len(bindings) == 1 and bindings[0].kind == "expr" else None
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return None
        sides = (test.left, test.comparisons[0].comparator)
        if not any(isinstance(s, cst.Name) and s.value == "__name__" for s in sides):
            return None
        if not any(self.values.constant(s) == "__main__" for s in sides):
            return None
        return {cst.Equal: True, cst.NotEqual: False}.get(type(test.comparisons[0].operator))
