"""What an expression can stand for: an imported thing, a constant, a function or class of the script.

Flow is ignored: a name stands for everything that is ever bound to it. That is what an audit wants: `e = os.environ`
on one line makes every `e[...]` a read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst

from reviewer.budget import Budget
from reviewer.engine import Tree
from reviewer.fold import UNKNOWN, fold
from reviewer.scope import Binding, Function, Scope, Scopes

_MOST = 48  # alternatives kept for one expression
_STEPS_OF_A_NAME = 8
_LITERALS = frozenset({cst.Integer, cst.Float, cst.SimpleString})  # these need no names, and so no function for them
_LONGEST_NAME = 200  # of a module that is named by a text
_MOST_ELEMENTS = 64  # of a list or a dict that are looked into
# Where there are more alternatives than are kept, these modules come first: the rules are about them.
_TELLING = ("os", "posix", "nt", "builtins", "sys", "importlib", "operator", "functools", "pickle", "ctypes", "torch")


@dataclass(frozen=True)
class Ref:
    """Something from outside the script, by its dotted path: `os.environ.get`, `builtins.exec`."""

    path: str


@dataclass(frozen=True)
class Own:
    """A function, lambda or class of the script; `given` are arguments that a partial has already put in."""

    node: Function | cst.ClassDef
    given: tuple[cst.Arg, ...] = ()


Value = Ref | Own
ENVIRON = "os.environ"
ENVIRONMENT_NAMES = frozenset({"environ", "environb", "getenv", "getenvb"})
IMPORTERS = frozenset(
    ["builtins.__import__", "importlib.import_module", "importlib.__import__", "pkgutil.resolve_name", "pydoc.locate"]
)
ATTRGETTER, METHODCALLER = "operator.attrgetter", "operator.methodcaller"
GETTER_MADE = (f"{ATTRGETTER}.", f"{METHODCALLER}.")  # with the name that it was made for: `….system()`


class Values:
    """Resolves expressions of one tree; remembers what it found."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.scopes = Scopes(tree)
        self._known: dict[int, tuple[Value, ...]] = {}
        self._named: dict[tuple[int, str], tuple[Value, ...]] = {}
        self._members: dict[str, tuple[Value, ...]] = {}
        self._constants: dict[int, Any] = {}
        self.budget = Budget()

    def of(self, node: cst.CSTNode | None) -> tuple[Value, ...]:
        """Return what an expression can stand for; empty if nothing is known."""
        if node is None:
            return ()
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return ()
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = ()  # an expression that leads back to itself adds nothing
            known = self._known[id(node)] = _kept(handler(self, node))
        return known

    def paths(self, node: cst.CSTNode | None) -> list[str]:
        """Return the dotted paths an expression can stand for."""
        return [v.path for v in self.of(node) if isinstance(v, Ref)]

    def constant(self, node: cst.CSTNode | None, given: dict[str, Any] | None = None) -> Any:
        """Fold an expression, following names that have exactly one value; `given` binds parameters."""
        if type(node) in _LITERALS:
            return fold(node)
        known = {} if given else self._constants  # what depends on parameters is remembered for this call only

        def lookup(name: cst.Name) -> Any:
            if given and name.value in given:
                return given[name.value]
            bindings = self.scopes.of(name).find(name.value)
            if len(bindings) != 1 or bindings[0].kind != "expr" or bindings[0].node is None:
                return UNKNOWN
            key = id(bindings[0].node)
            if key not in known:
                known[key] = UNKNOWN  # a constant that is made of itself is none
                known[key] = fold(bindings[0].node, lookup)
            return known[key]

        return fold(node, lookup)

    def text(self, node: cst.CSTNode | None) -> str | None:
        """Return the text that an expression is; None where it is none, or not known. Lists cannot be looked up."""
        value = self.constant(node)
        return value if isinstance(value, str) else None

    def bound(self, bindings: Any) -> list[Value]:
        """Return what a list of bindings can stand for."""
        found: list[Value] = []
        for b in bindings:
            if b.kind == "ref":
                found.append(Ref(canonical(b.path)))
            elif b.kind == "def" and not _is_property(b):
                found.append(Own(b.node))
            elif b.kind in ("expr", "param"):
                found.extend(self.of(b.node))
        return found

    def named(self, name: str, scope: Scope) -> tuple[Value, ...]:
        """Return what a name read in this scope can stand for."""
        key = (id(scope), name)
        if key not in self._named:
            self._named[key] = ()  # a name that leads back to itself adds nothing
            self._named[key] = _kept(self._mean(name, scope))
        return self._named[key]

    def _mean(self, name: str, scope: Scope) -> Iterator[Value]:
        """Yield what a name means, with the names it is set to: all at once, since `a = b`, `b = a` goes in circles."""
        bindings = scope.find(name)
        if not bindings:
            yield from self._foreign(name, scope)
            return
        todo, seen = list(bindings), {(id(scope), name): scope}
        while todo:
            binding = todo.pop()
            self.budget.spend(_STEPS_OF_A_NAME)
            for node in _alternatives(binding.node) if binding.kind in ("expr", "param") else ():
                where = self.scopes.of(node) if isinstance(node, cst.Name) else None
                if where is None or not isinstance(node, cst.Name):
                    yield from self.of(node)
                elif not (more := where.find(node.value)):
                    yield from self._foreign(node.value, where)
                elif (id(where), node.value) in seen:
                    continue
                elif known := self._named.get((id(where), node.value)):
                    yield from known
                else:
                    seen[id(where), node.value] = where
                    todo.extend(more)
            if binding.kind not in ("expr", "param"):
                yield from self.bound((binding,))
        for key in reversed(seen):  # the end of a long chain first, so that no name follows it again
            self.named(key[1], seen[key])

    def _foreign(self, name: str, scope: Scope) -> Iterator[Value]:
        """Yield what a name means that the script does not bind: a built-in, or part of a starred import."""
        yield Ref(f"builtins.{name}")
        starred: Scope | None = scope
        while starred is not None:
            yield from (Ref(canonical(f"{module}.{name}")) for module in starred.stars)
            starred = starred.parent

    def member(self, name: str) -> tuple[Value, ...]:
        """Return what an attribute of this name can be, on whatever object of the script."""
        if name not in self._members:
            self._members[name] = ()
            self._members[name] = _kept(self.bound(self.scopes.members.get(name, ())))
        return self._members[name]

    def _name(self, node: cst.Name) -> Iterable[Value]:
        return self.named(node.value, self.scopes.of(node))

    def _attribute(self, node: cst.Attribute) -> list[Value]:
        return self._member(node.value, node.attr.value)

    def _member(self, base: cst.CSTNode, name: str) -> list[Value]:
        refs: list[Value] = [Ref(canonical(f"{path}.{name}")) for path in self.paths(base)]
        found = refs or list(self._of_classes(base, name))
        if name in ENVIRONMENT_NAMES and not refs and not (found and self._is_own(base)):
            found.append(Ref(canonical(f"os.{name}")))  # whatever it is an attribute of, nothing else has that name
        return found

    def _of_classes(self, base: cst.CSTNode, name: str) -> tuple[Value, ...]:
        """Return what an attribute can be: of a class of the script that is named itself, not of other classes."""
        found = self.member(name)
        if not found:
            return found
        classes = [v.node if isinstance(v, Own) else None for v in self.of(base)]
        for node in classes:
            if not isinstance(node, cst.ClassDef) or len(classes) > _MOST:
                return found
            for above in node.bases:
                known = self.of(above.value)
                if not known:
                    return found
                classes += [v.node for v in known if isinstance(v, Own) and v.node not in classes]
        if not classes:
            return found
        bindings = self.scopes.members.get(name, ())
        return _kept(self.bound(b for b in bindings if b.scope.node in classes or b.kind != "def"))

    def _is_own(self, node: cst.CSTNode) -> bool:
        """Tell whether this is an object of a class of the script."""
        if isinstance(node, cst.Name):
            bindings = self.scopes.of(node).find(node.value)
            return node.value in ("self", "cls") or (bool(bindings) and all(self._is_made(b.node) for b in bindings))
        return self._is_made(node)

    def _is_made(self, node: cst.CSTNode | None) -> bool:
        if not isinstance(node, cst.Call):
            return False
        made = self.of(node.func)
        return bool(made) and all(isinstance(v, Own) and isinstance(v.node, cst.ClassDef) for v in made)

    def _subscript(self, node: cst.Subscript) -> list[Value]:
        found: list[Value] = []
        paths = self.paths(node.value)
        if not paths or len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return []
        key = self.constant(node.slice[0].slice.value)
        if not isinstance(key, str):
            return []
        for path in paths:
            if path in ("builtins.globals()", "builtins.locals()", "builtins.vars()"):
                found.extend(self.named(key, self.scopes.module))
            elif path == "sys.modules":
                found.append(Ref(canonical(key)))
            elif path.endswith(".__dict__") or path == "builtins.__builtins__":
                found.append(Ref(canonical(f"{path.removesuffix('.__dict__')}.{key}")))
        return found

    def _call(self, node: cst.Call) -> list[Value]:
        found: list[Value] = []
        for value in self.of(node.func):
            if isinstance(value, Own):
                for returned in self.scopes.returns.get(id(value.node), ()):
                    found.extend(self.of(returned))
            else:
                found.extend(self._called(value.path, node))
        return found

    def _called(self, path: str, node: cst.Call) -> list[Value]:
        args = [a.value for a in node.args if a.keyword is None and not a.star]
        first = args[0] if args else None
        if path == "builtins.getattr" and len(args) >= 2:
            name = self.constant(args[1])
            return self._member(args[0], name) if isinstance(name, str) else []
        if path == "builtins.vars" and args:
            return [Ref(f"{p}.__dict__") for p in self.paths(first)]
        if path in IMPORTERS:
            name = self.constant(first)
            known = isinstance(name, str) and len(name) < _LONGEST_NAME
            return [Ref(canonical(name.replace(":", ".")))] if known else []
        if path.endswith(".__getattribute__") and args:
            name = self.constant(args[-1])
            return [Ref(canonical(f"{path.removesuffix('.__getattribute__')}.{name}"))] if isinstance(name, str) else []
        if path == "functools.partial" and args:
            inner = self.of(first)
            rest = tuple(node.args[1:])
            return [Own(v.node, v.given + rest) if isinstance(v, Own) else v for v in inner]
        if path == f"{ENVIRON}.copy":
            return [Ref(ENVIRON)]
        if path == METHODCALLER or (path == ATTRGETTER and len(args) == 1):
            name = self.constant(first)
            return [Ref(f"{path}.{name}()")] if isinstance(name, str) and len(name) < 100 else [Ref(f"{path}()")]
        if path.startswith(GETTER_MADE) and path.endswith("()"):
            found = self._got(path, node)
            return found if path.startswith(ATTRGETTER) else [Ref(f"{v.path}()") for v in found if isinstance(v, Ref)]
        return [Ref(f"{path}()")] if len(path) < 200 else []

    def _got(self, path: str, node: cst.Call) -> list[Value]:
        """Return what a getter of this path takes from the one thing that it is called with."""
        args = [a.value for a in node.args if a.keyword is None and not a.star]
        return self._member(args[0], path.removesuffix("()").split(".", 2)[2]) if args else []

    def callees(self, node: cst.Call) -> list[str]:
        """Return the paths of what a call calls, a `methodcaller` and the method that it calls both."""
        paths = self.paths(node.func)
        made = [path for path in paths if path.startswith(GETTER_MADE[1]) and path.endswith("()")]
        return paths + [v.path for path in made for v in self._got(path, node) if isinstance(v, Ref)]

    def _either(self, node: cst.IfExp) -> list[Value]:
        return [*self.of(node.body), *self.of(node.orelse)]

    def _any(self, node: cst.BooleanOperation) -> list[Value]:
        return [*self.of(node.left), *self.of(node.right)]

    def _walrus(self, node: cst.NamedExpr) -> list[Value]:
        return list(self.of(node.value))

    def _lambda(self, node: cst.Lambda) -> list[Value]:
        return [Own(node)]


def _kept(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return the different ones of some alternatives, not too many, the telling ones first where some are dropped."""
    found = list(values)
    if len(found) < 2:
        return tuple(found)
    found = list(dict.fromkeys(found))
    if len(found) > _MOST:
        found.sort(key=lambda v: not (isinstance(v, Ref) and v.path.split(".")[0] in _TELLING))
    return tuple(found[:_MOST])


def _alternatives(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Yield the expressions of which one will be the value: `b` and `c` of `b if a else c`."""
    todo = [node]
    while todo:
        match todo.pop():
            case cst.IfExp(body=one, orelse=other) | cst.BooleanOperation(left=one, right=other):
                todo += [one, other]
            case cst.NamedExpr(value=value):
                todo.append(value)
            case cst.CSTNode() as plain:
                yield plain


_HANDLERS: dict[type, Any] = {
    cst.Name: Values._name,
    cst.Attribute: Values._attribute,
    cst.Subscript: Values._subscript,
    cst.Call: Values._call,
    cst.IfExp: Values._either,
    cst.BooleanOperation: Values._any,
    cst.NamedExpr: Values._walrus,
    cst.Lambda: Values._lambda,
}

# Modules re-export others (`shutil.os`), and the mapping has other names; all of them are one path here.
_ANYONES = re.compile(r"^.*\.(?=(?:environb?|getenvb?)\b)")  # `tempfile._os.environ`, `ctypes.CDLL().getenv`
_OTHER_NAMES = re.compile(r"^(?:.*\.)?(?:os|posix|nt)\.(?=(?:environb?|getenvb?|path|system)\b)")


def canonical(path: str) -> str:
    """Return the one spelling of a path that the rules know."""
    path = _OTHER_NAMES.sub("os.", _ANYONES.sub("os.", path)) if "env" in path else path
    path = path.replace("os.environb", ENVIRON).replace("os.getenvb", "os.getenv")
    return "builtins" + path[len("builtins.__builtins__") :] if path.startswith("builtins.__builtins__.") else path


def _is_property(binding: Binding) -> bool:
    node = binding.node
    if not isinstance(node, cst.FunctionDef):
        return False
    marks = (d.decorator for d in node.decorators)
    return any(isinstance(m, cst.Name) and m.value in ("property", "cached_property") for m in marks)
