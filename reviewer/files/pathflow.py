"""What the expressions that name files can be, as far as the text of the script says.

A path is followed through names, members, helpers and their callers, `os.path`, `pathlib`, sums and f-strings. What is
not known leaves a hole in it, and a path with holes still says much: `/data/…` is outside, `out/…` is not, and
`…/../x` should be written otherwise. As everywhere in the audit, an expression can be all that it ever may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from reviewer.files.machine import FOLDERS, SOURCES, place_of
from reviewer.files.paths import HOLE, MARKS, OUT, WORK, absolute, cut, joined, leads_outside, parent
from reviewer.fold import UNKNOWN
from reviewer.scope import Binding, Function, parameters
from reviewer.script import Script
from reviewer.values import Own

_MOST = 24  # alternatives kept for one expression; those that lead outside are kept first
_HOPS = 8
_MOST_CALLS = 512  # of helpers that are followed for one call alone
_LONGEST = 4_096  # characters, as for the kernel
_CLASSES = tuple(f"pathlib.{n}" for n in ("Path", "PosixPath", "PurePath", "PurePosixPath", "WindowsPath"))
JOINING = frozenset({"os.path.join", "posixpath.join", *_CLASSES})
_ABSOLUTE = frozenset({"os.path.abspath", "os.path.realpath", "posixpath.abspath", "posixpath.realpath"})
_PARENT = frozenset({"os.path.dirname", "posixpath.dirname"})
_SAME = frozenset(
    [f"builtins.{n}" for n in ("str", "bytes", "sorted", "list", "tuple", "set", "iter", "next", "reversed")]
    + ["os.fspath", "os.fsdecode", "os.fsencode", "os.path.normpath", "os.path.splitext", "os.path.split"]
    + ["os.path.relpath", "posixpath.relpath"]
    + ["os.path.expanduser", "os.path.expandvars", "glob.glob", "glob.iglob", "posixpath.normpath"]
)
_ONE_OF = frozenset({"builtins.zip", "builtins.enumerate", "builtins.map", "builtins.filter", "itertools.chain"})
TRANSPARENT = JOINING | _ABSOLUTE | _PARENT | _SAME
_ONE_TEXT = JOINING | _ABSOLUTE | _PARENT | {"os.getcwd", "os.fspath", "os.fsdecode", "builtins.str"}
_PARTED = frozenset({"split", "rsplit", "partition", "rpartition"})
_SAME_METHODS = {
    "as_posix",
    "with_suffix",
    "strip",
    "rstrip",
    "removesuffix",
    "encode",
    "decode",
    "expanduser",
    "lower",
    "values",
    "items",
    "pop",
    "copy",
}
_FIELD = re.compile(r"\{[^{}]*\}|%[-+ #0-9.]*[a-zA-Z]")

Found = tuple[str, cst.CSTNode | None]  # a path, and the argument of the script's own helper that it came in by


class Paths:
    """Follows paths in one script; remembers what it found.

    A helper with several callers is followed anew for each of them, since one returns what the others have given it.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._calls_left = _MOST_CALLS
        self._fixed: dict[str, cst.BaseExpression] | None = None  # what the parameters of the followed helper are
        self._helper: Function | None = None
        self._outer: Paths | None = None  # which knows what a call gives
        self._known: dict[int, tuple[Found, ...]] = {}
        self._meant: dict[int, tuple[Found, ...]] = {}  # id(all bindings of a name) -> what it can be

    def of(self, node: cst.CSTNode | None) -> tuple[Found, ...]:
        """Return what an expression can be as a path; a hole where nothing is known."""
        if node is None:
            return ()
        known = self._known.get(id(node))
        if known is None:
            self._script.budget.spend()
            self._known[id(node)] = ((HOLE, None),)  # an expression that leads back to itself
            known = self._known[id(node)] = self._kept(self._follow(node))
        return known

    def _kept(self, paths: Iterable[Found]) -> tuple[Found, ...]:
        found = list(dict.fromkeys((text[:_LONGEST], at) for text, at in paths)) or [(HOLE, None)]
        if len(found) > _MOST:
            found.sort(key=lambda one: not leads_outside(one[0], self._script.policy))
        return tuple(found[:_MOST])

    def _follow(self, node: cst.CSTNode) -> Iterable[Found]:
        constant = self._script.values.constant(node)
        if isinstance(constant, str | bytes):
            text = constant if isinstance(constant, str) else constant.decode("latin-1")
            return [(text.translate(MARKS), None)]
        if constant is not UNKNOWN and not isinstance(constant, list):
            return [(str(constant), None)]
        match node:
            case cst.Name():
                return self._name(node)
            case cst.Attribute():
                return self._attribute(node)
            case cst.BinaryOperation(left=left, right=right, operator=cst.Divide()):
                return self._joined((left, right))
            case cst.BinaryOperation(left=left, right=right, operator=cst.Add()):
                return self._sum((self.of(left), self.of(right)))
            case cst.BinaryOperation(left=left, right=right, operator=cst.Modulo()):
                return self._filled(
                    left, [e.value for e in right.elements] if isinstance(right, cst.Tuple) else [right]
                )
            case cst.FormattedString(parts=parts):
                return self._sum([self._part(part) for part in parts])
            case cst.ConcatenatedString(left=left, right=right):
                return self._sum((self.of(left), self.of(right)))
            case cst.Call():
                return self._call(node)
            case cst.IfExp(body=one, orelse=other) | cst.BooleanOperation(left=one, right=other):
                return (*self.of(one), *self.of(other))
            case cst.NamedExpr(value=value) | cst.StarredElement(value=value):
                return self.of(value)
            case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Set(elements=elements):
                return [one for element in elements for one in self.of(element.value)]
            case cst.Dict(elements=elements):
                return [one for element in elements for one in self.of(element.value)]
            case cst.Subscript():
                return self._subscript(node)
            case cst.ListComp(elt=elt) | cst.GeneratorExp(elt=elt) | cst.SetComp(elt=elt):
                return self.of(elt)
        return ()

    def _part(self, part: cst.CSTNode) -> tuple[Found, ...]:
        """Return a part of an f-string; its escapes stand in it as they were written."""
        if isinstance(part, cst.FormattedStringText):
            text = part.value
            if "\\" in text:
                text = text.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
            return ((text.replace("{{", "{").replace("}}", "}").translate(MARKS), None),)
        return self.of(part.expression) if isinstance(part, cst.FormattedStringExpression) else ((HOLE, None),)

    def _sum(self, parts: Sequence[tuple[Found, ...]]) -> Iterable[Found]:
        whole: tuple[Found, ...] = (("", None),)
        for part in parts:
            whole = self._kept((one + two, a or b) for one, a in whole for two, b in part)
        return whole

    def _joined(self, nodes: Sequence[cst.CSTNode]) -> Iterable[Found]:
        whole: tuple[Found, ...] = (("", None),)
        for node in nodes:
            whole = self._kept((joined(one, two), a or b) for one, a in whole for two, b in self.of(node))
        return whole

    def _filled(self, base: cst.BaseExpression, args: Sequence[cst.BaseExpression]) -> Iterator[Found]:
        """Yield a text with its fields filled in: in order, or with holes where it is said differently."""
        for text, at in self.of(base):
            pieces = _FIELD.split(text)
            inner = [self.of(a) if len(pieces) == len(args) + 1 else ((HOLE, None),) for a in args or [base]]
            holes: tuple[Found, ...] = ((HOLE, None),)
            parts: list[tuple[Found, ...]] = [((pieces[0], at),)]
            for i, piece in enumerate(pieces[1:]):
                parts += [inner[i] if i < len(inner) else holes, ((piece, None),)]
            yield from self._sum(parts)

    def _name(self, node: cst.Name) -> Iterator[Found]:
        if node.value == "__file__":
            yield f"{WORK}/{HOLE}", None
        yield from self._mean(self._script.scopes.of(node).find(node.value))

    def _mean(self, bindings: Sequence[Binding]) -> tuple[Found, ...]:
        """Return what a name or a member can be; asked for each time that it is used, worked out once."""
        known = self._meant.get(id(bindings))
        if known is None:
            self._meant[id(bindings)] = ((HOLE, None),)
            known = self._kept(found for b in bindings for found in self._bound(b))
            if bindings:
                self._meant[id(bindings)] = known
        return known

    def _bound(self, binding: Binding) -> Iterator[Found]:
        if binding.kind == "ref":
            yield place_of(binding.path) or HOLE, None
        elif binding.kind in ("expr", "drawn"):
            yield from self.of(binding.node)
        elif binding.kind == "param":
            if self._fixed is not None and self._outer is not None and binding.scope.node is self._helper:
                yield from self._here(binding)
                return
            yield from self.of(binding.node)
            yield from self._given(binding)
        elif isinstance(binding.node, cst.FunctionDef) and binding.node.decorators:  # a property
            yield from (
                one for value in self._script.scopes.returns.get(id(binding.node), ()) for one in self.of(value)
            )

    def _here(self, binding: Binding) -> Iterator[Found]:
        """Yield what the one call that is followed puts in for a parameter."""
        name = next((n for n, bound in binding.scope.names.items() if any(one is binding for one in bound)), "")
        given = self._fixed.get(name) if self._fixed is not None else None
        if given is not None and self._outer is not None:
            yield from self._outer.of(given)
        else:
            yield from self.of(binding.node)

    def _returned(self, call: cst.Call, own: Own) -> Iterator[Found]:
        """Yield what a function of the script returns; a helper with several callers, what it returns to this one."""
        returns = self._script.scopes.returns.get(id(own.node), ())
        helper = own.node
        alone = self
        if (
            returns
            and self._outer is None
            and self._calls_left > 0
            and isinstance(helper, Function)
            and len(self._script.calls.sites.get(id(helper), ())) > 1
            and not any(arg.star for arg in call.args)
        ):
            self._calls_left -= 1
            alone = Paths(self._script)
            alone._outer, alone._helper = self, helper
            alone._fixed = self._script.calls.arguments(helper, call, own)
        for value in returns:
            yield from alone.of(value)

    def _given(self, binding: Binding) -> Iterator[Found]:
        """Yield what the script's own calls put in for a parameter, with the place where they do."""
        function, calls = binding.scope.node, self._script.calls
        if not isinstance(function, Function):
            return
        name = next((n for n, bound in binding.scope.names.items() if any(one is binding for one in bound)), "")
        for call, own in self._sites(function):
            self._script.budget.spend()
            given = calls.arguments(function, call, own).get(name)
            if isinstance(own.node, cst.ClassDef):
                given = _given_by(call, [p.name.value for p in parameters(function)][1:]).get(name)
            if given is not None and given is not binding.node:
                yield from ((text, at or given) for text, at in self.of(given))

    def _sites(self, function: Function) -> list[tuple[cst.Call, Own]]:
        sites = self._script.calls.sites
        owner = self._script.scopes.of(function).node
        made = isinstance(owner, cst.ClassDef) and isinstance(function, cst.FunctionDef)
        started = sites[id(owner)] if made and function.name.value in ("__init__", "__new__") else []  # type: ignore[union-attr]
        return [*sites[id(function)], *started]

    def _attribute(self, node: cst.Attribute) -> Iterator[Found]:
        name = node.attr.value
        known = self._script.values.paths(node)
        yield from self._places(known)
        if not known and name in ("__file__", "__path__") and not self._is_own_module(node.value):
            yield OUT, None
        if name == "parent":
            yield from ((parent(text), at) for text, at in self.of(node.value))
        elif name in ("root", "anchor") and any(text[:1] in ("/", WORK) for text, _ in self.of(node.value)):
            yield "/", None
        else:
            bindings = self._script.scopes.members.get(name, ())
            yield from self._mean(bindings)
            for owner in {id(b.scope.node): b.scope.node for b in bindings}.values():
                if isinstance(owner, cst.ClassDef):
                    yield from self._of_field(owner, name)

    def _of_field(self, owner: cst.ClassDef, name: str) -> Iterator[Found]:
        """Yield what calls of a class give one of its fields, as in a dataclass."""
        lines = [one for line in owner.body.body if isinstance(line, cst.SimpleStatementLine) for one in line.body]
        fields = [
            one.target.value for one in lines if isinstance(one, cst.AnnAssign) and isinstance(one.target, cst.Name)
        ]
        for call, _ in self._script.calls.sites[id(owner)] if name in fields else ():
            self._script.budget.spend()
            given = _given_by(call, fields).get(name)
            if given is not None:
                yield from ((text, at or given) for text, at in self.of(given))

    def _places(self, known: Iterable[str]) -> Iterator[Found]:
        for path in known:
            if (place := place_of(path)) is not None:
                yield place, None

    def _is_own_module(self, node: cst.CSTNode) -> bool:
        """Tell whether this is `sys.modules[__name__]`."""
        match node:
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value="__name__")))]):
                return "sys.modules" in self._script.values.paths(node.value)
        return False

    def _subscript(self, node: cst.Subscript) -> Iterable[Found]:
        part = node.slice[0].slice
        index = self._script.values.constant(part.value) if isinstance(part, cst.Index) else UNKNOWN
        of_what = node.value.attr.value if isinstance(node.value, cst.Attribute) else ""
        if of_what == "parents" and isinstance(node.value, cst.Attribute):
            return self._parents(node.value.value, index)
        known = self._script.values.paths(node)
        if index == 0 and "sys.path" in self._script.values.paths(node.value):
            return [(WORK, None)]  # where the script lies
        if known and (places := list(self._places(known))):
            return places
        base = node.value.value if of_what == "parts" and isinstance(node.value, cst.Attribute) else node.value
        if of_what == "parts" or self._is_text(node.value):
            begins = part.upper is not None if isinstance(part, cst.Slice) else index == 0
            return [(cut(text, from_start=begins), at) for text, at in self.of(base)]
        method = base.func.attr.value if isinstance(base, cst.Call) and isinstance(base.func, cst.Attribute) else ""
        if method in _PARTED and index == -1:
            return [(HOLE if text[:1] in (WORK, OUT) else text, at) for text, at in self.of(base)]
        return self.of(base)

    def _is_text(self, node: cst.CSTNode, hops: int = 0) -> bool:
        """Tell whether this is certainly one path as text, and no list of them: then its parts are cut-off paths."""
        if isinstance(node, cst.Name) and hops < _HOPS:
            bindings = self._script.scopes.of(node).find(node.value)
            return bool(bindings) and all(
                b.kind == "expr" and b.node is not None and self._is_text(b.node, hops + 1) for b in bindings[:_HOPS]
            )
        return isinstance(node, cst.Call) and any(path in _ONE_TEXT for path in self._script.path_of(node))

    def _parents(self, base: cst.BaseExpression, steps: object) -> Iterable[Found]:
        if type(steps) is not int or not 0 <= steps <= 64:
            return [(OUT, None)]
        found = self.of(base)
        for _ in range(steps + 1):
            found = tuple((parent(text), at) for text, at in found)
        return found

    def _call(self, node: cst.Call) -> Iterator[Found]:
        args = [a.value for a in node.args if a.keyword is None]
        for value in self._script.values.of(node.func):
            if isinstance(value, Own):
                yield from self._returned(node, value)
            elif (path := value.path) in JOINING:
                yield from self._joined(args)
            elif path in FOLDERS:
                yield FOLDERS[path], None
            elif path in SOURCES and args and self._script.values.paths(args[0]):
                yield OUT, None
            elif path in _ABSOLUTE and args:
                yield from ((absolute(text), at) for text, at in self.of(args[0]))
            elif path in _PARENT and args:
                yield from ((parent(text), at) for text, at in self.of(args[0]))
            elif path in _SAME and args:
                yield from self.of(args[0])
            elif path in _ONE_OF and args:
                yield from (found for arg in args for found in self.of(arg))
            elif path in ("os.environ.get", "os.getenv", "builtins.getattr"):
                yield from self._places(self._script.values.paths(node))
                yield from self.of(args[-1] if len(args) == (3 if "getattr" in path else 2) else None)
            elif path.endswith(".cwd") and path.startswith("pathlib."):
                yield WORK, None
            elif path.endswith(".home") and path.startswith("pathlib."):
                yield OUT, None
        if isinstance(node.func, cst.Attribute):
            yield from self._method(node.func.value, node.func.attr.value, args)

    def _method(self, base: cst.BaseExpression, name: str, args: Sequence[cst.BaseExpression]) -> Iterator[Found]:
        if name in ("strip", "rstrip", "removesuffix", "replace") and args:
            yield from ((self._shortened(text, name, args), at) for text, at in self.of(base))
        elif name in _SAME_METHODS:
            yield from self.of(base)
        elif name in ("resolve", "absolute"):
            yield from ((absolute(text), at) for text, at in self.of(base))
        elif name == "format":
            yield from self._filled(base, args)
        elif name in ("split", "partition"):
            yield from ((OUT if text[:1] == WORK else HOLE, at) for text, at in self.of(base))
        elif name in ("rsplit", "rpartition"):
            yield from ((parent(text), at) for text, at in self.of(base))
        elif name == "joinpath":
            yield from self._joined((base, *args))
        elif name in ("with_name", "with_stem") and args:
            yield from ((joined(parent(one), two), a or b) for one, a in self.of(base) for two, b in self.of(args[0]))
        elif name in ("glob", "rglob", "iterdir"):
            yield from ((joined(text, HOLE), at) for text, at in self.of(base))
        elif name == "get" and len(args) == 2:
            yield from self.of(args[1])
        elif name == "join" and args and isinstance(args[0], cst.List | cst.Tuple):
            between = self.of(base)
            parts: list[tuple[Found, ...]] = []
            for element in args[0].elements:
                parts += [between, self.of(element.value)] if parts else [self.of(element.value)]
            yield from self._sum(parts)

    def _shortened(self, text: str, name: str, args: Sequence[cst.BaseExpression]) -> str:
        """Return a path after a method that takes some of its text away; of the run's folder that leaves another."""
        if name == "replace":
            new = self._script.values.constant(args[1]) if len(args) > 1 else UNKNOWN
            harmless = isinstance(new, str) and new.strip(".") != "" and "/" not in new
            return OUT if text in (WORK, OUT) and not harmless else HOLE
        gone = self._script.values.constant(args[0])
        return OUT if text == WORK and gone not in ("/", "\n", " ") else text


def _given_by(call: cst.Call, names: Sequence[str]) -> dict[str, cst.BaseExpression]:
    """Return what the call of a class gives for the parameters or fields of these names."""
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    given = dict(zip(names, positional, strict=False))
    given.update({a.keyword.value: a.value for a in call.args if a.keyword is not None})
    return given
