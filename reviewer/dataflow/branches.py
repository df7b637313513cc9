"""Follows a value forwards to the branches that it decides: through names, fields, helpers and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.scope import Function, parameters
from reviewer.script import Script
from reviewer.values import Own

_MOST = 120  # places that one value is followed to
_MENTIONS = 24  # of one name
_LOOKED_AT = 240  # places with that name, in whatever scope
# What these make of a value still says what the value said.
_BUILTINS = (
    "len int float str bool hash abs min max sum any all sorted set list tuple repr ord round bytes dict divmod pow "
    "iter next reversed frozenset bin hex getattr"
)
_OTHERS = (
    "re.match re.search re.fullmatch re.findall zlib.crc32 zlib.adler32 math.floor math.ceil hashlib.md5 hashlib.sha1 "
    "hashlib.sha256 hashlib.sha512 hashlib.blake2b operator.eq operator.ne operator.contains operator.lt operator.gt "
    "functools.partial fnmatch.fnmatch os.path.basename os.path.dirname os.path.join pathlib.Path datetime.timedelta "
    "random.Random"
)
_PLAIN = frozenset([f"builtins.{name}" for name in _BUILTINS.split()] + _OTHERS.split())

# Where a name is read, by its bindings' id: a name may be set a thousand times.
_READ: WeakKeyDictionary[Script, dict[tuple[int, str], list[cst.Name]]] = WeakKeyDictionary()

Stop = Callable[[cst.CSTNode, cst.CSTNode], bool]


def branches(script: Script, start: cst.CSTNode, stop: Stop) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield each place that branches on a value, with the test; `stop(below, above)` ends a way."""
    todo, seen = [start], {id(start)}
    for node in todo:
        if len(seen) > _MOST:
            return
        below: cst.CSTNode = node
        above = script.tree.parent(below)
        while above is not None and not stop(below, above):
            script.budget.spend()
            found = _branch(below, above)
            if found and not (isinstance(above, cst.SubscriptElement) and _is_stored(script, above)):
                yield above, found
            more = onwards(script, below, above)
            if more is None:
                below, above = above, script.tree.parent(above)
                continue
            for one in more:
                if id(one) not in seen:
                    seen.add(id(one))
                    todo.append(one)
            break


def _branch(below: cst.CSTNode, above: cst.CSTNode) -> cst.CSTNode | None:
    """Return what is tested where a value decides between ways."""
    match above:
        case cst.If(test=test) | cst.While(test=test) | cst.IfExp(test=test) | cst.CompIf(test=test) if test is below:
            return below
        case cst.Match(subject=subject) if subject is below:
            return below
        case cst.BinaryOperation() if isinstance(below, cst.Comparison | cst.UnaryOperation):
            return below  # a yes or no that is counted with
        case cst.SubscriptElement():
            return below
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="get"))) if isinstance(below, cst.Arg):
            return below
        case cst.BooleanOperation(left=left, operator=cst.And()) if left is below:
            return below
        case cst.BinaryOperation(operator=cst.Modulo(), left=left) if left is below and not _is_text(left):
            return above
    return None


def _is_stored(script: Script, key: cst.SubscriptElement) -> bool:
    """Tell whether something is kept under a key, and not chosen by it."""
    above = script.tree.parent(key)
    return isinstance(script.tree.parent(above) if above is not None else None, cst.AssignTarget | cst.Del)


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString)


def onwards(script: Script, below: cst.CSTNode, above: cst.CSTNode) -> list[cst.CSTNode] | None:
    """Return where a value is met again, [] where its way ends, None where the next thing above is made of it."""
    match above:
        case cst.Element():
            return _one_of_many(script, above)
        case cst.Assign():
            return [m for t in above.targets for m in read_in(script, t.target)]
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            return read_in(script, target) if below is not target else []
        case cst.NamedExpr(target=target) if below is not target:
            return [above, *read_in(script, target)]
        case cst.For(target=target) | cst.CompFor(target=target) if below is above.iter:
            return read_in(script, target)
        case cst.Return():
            function = script.scopes.function_of(above)
            sites = script.calls.sites.get(id(function), ()) if function is not None else ()
            found: list[cst.CSTNode] = [call for call, _ in sites[:_MENTIONS]]
            if isinstance(function, cst.FunctionDef) and function.decorators:  # a property
                found += _members(script, function.name.value, function)
            return found
        case cst.Lambda():
            return [call for call, _ in script.calls.sites.get(id(above), ())[:_MENTIONS]]
        case cst.Arg():
            call = script.tree.parent(above)
            return _into(script, above, call) if isinstance(call, cst.Call) else []
        case cst.Param(name=name, default=default) if default is below:
            function = script.tree.enclosing(above, cst.FunctionDef)
            return read_in(script, name, function.body) if function is not None else []
        case cst.BaseStatement() | cst.BaseSmallStatement() | cst.BaseSuite() | cst.Param():
            return []
    return None


def _one_of_many(script: Script, element: cst.Element) -> list[cst.CSTNode] | None:
    """Return where `a` of `x, y = a, b` is met, which is not where `b` is; None where it is part of another thing."""
    many = script.tree.parent(element)
    given = script.tree.parent(many) if isinstance(many, cst.Tuple) else None
    if not isinstance(given, cst.Assign) or not isinstance(many, cst.Tuple) or given.value is not many:
        return None
    at = next(n for n, one in enumerate(many.elements) if one is element)
    found: list[cst.CSTNode] = []
    for target in (t.target for t in given.targets):
        if not isinstance(target, cst.Tuple | cst.List) or len(target.elements) != len(many.elements):
            return None
        found += read_in(script, target.elements[at].value)
    return found


def _into(script: Script, arg: cst.Arg, call: cst.Call) -> list[cst.CSTNode] | None:
    """Return the parameters that an argument becomes; None where a plain function hands it on."""
    found: list[cst.CSTNode] = []
    for value in script.values.of(call.func):
        if isinstance(value, Own) and isinstance(value.node, Function):
            for name, given in script.calls.arguments(value.node, call, value).items():
                if given is arg.value:
                    wanted = [p.name for p in parameters(value.node) if p.name.value == name]
                    found += [m for p in wanted for m in read_in(script, p, value.node.body)]
        elif isinstance(value, Own) and isinstance(value.node, cst.ClassDef):
            found += _into_an_object(script, arg, call, value.node)
        elif not isinstance(value, Own) and value.path in _PLAIN:
            return None
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in (
        "get",
        "startswith",
        "endswith",
        "count",
        "index",
    ):
        return None
    return found


def _into_an_object(script: Script, arg: cst.Arg, call: cst.Call, made: cst.ClassDef) -> list[cst.CSTNode]:
    """Return where an argument of a class is met: as a parameter of its `__init__`, or as the field of that name."""
    makers = [
        b.node for b in script.scopes.scope(made).names.get("__init__", ()) if isinstance(b.node, cst.FunctionDef)
    ]
    if not makers:
        return _members(script, arg.keyword.value, made) if arg.keyword is not None else []
    names = [p.name for p in parameters(makers[0])][1:]
    at = next(n for n, one in enumerate(call.args) if one is arg)
    if arg.keyword is not None:
        wanted = [name for name in names if name.value == arg.keyword.value]
    else:
        wanted = names[at : at + 1]
    return [m for name in wanted for m in read_in(script, name, makers[0].body)]


def read_in(script: Script, target: cst.CSTNode, inside: cst.CSTNode | None = None) -> list[cst.CSTNode]:
    """Return the places where what is assigned to a target is read."""
    if isinstance(target, cst.Tuple | cst.List):
        return [m for element in target.elements for m in read_in(script, element.value)]
    if isinstance(target, cst.Attribute):
        return _members(script, target.attr.value, target)
    if not isinstance(target, cst.Name):
        return []
    scopes = script.scopes
    if isinstance(scopes.of(target).node, cst.ClassDef) and inside is None:
        return _members(script, target.value, target)
    bindings = scopes.of(inside if inside is not None else target).find(target.value)
    known, key = _READ.setdefault(script, {}), (id(bindings), target.value)
    if key not in known:
        script.budget.spend(_LOOKED_AT)
        mentions = script.mentions.get(target.value, ())[:_LOOKED_AT]
        reads = (n for n in mentions if _is_read(script, n) and scopes.of(n).find(target.value) is bindings)
        known[key] = list(islice(reads, _MENTIONS + 1))
    return list[cst.CSTNode](n for n in known[key] if n is not target)[:_MENTIONS]


def _is_read(script: Script, name: cst.Name) -> bool:
    """Tell whether a name is the variable, and not an attribute's or an argument's name or a target."""
    match script.tree.parent(name):
        case cst.Attribute(attr=word) | cst.Arg(keyword=word) | cst.Param(name=word) if word is name:
            return False
        case cst.AssignTarget() | cst.Global() | cst.NameItem() | cst.Del():
            return False
    return True


def _members(script: Script, name: str, target: cst.CSTNode) -> list[cst.CSTNode]:
    holders = (script.tree.parent(mention) for mention in script.mentions.get(name, ())[:_MENTIONS])
    return [h for h in holders if isinstance(h, cst.Attribute) and h.attr.value == name and h is not target]
