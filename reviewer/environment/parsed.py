"""How many settings one variable or flag holds: `json.loads(os.environ["RUN"])["lr"]`, `getenv("RUN").split(",")`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.branches import read_in
from reviewer.dataflow.sources import sources
from reviewer.environment.flags import find_flags
from reviewer.script import Script

_PARSERS = (
    "json.loads", "ast.literal_eval", "yaml.safe_load", "yaml.load", "yaml.full_load", "tomllib.loads", "toml.loads",
    "tomli.loads", "urllib.parse.parse_qs", "urllib.parse.parse_qsl", "shlex.split", "pickle.loads",
)  # fmt: skip
_CUTTING = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})
_READING = frozenset({"get", "pop", "setdefault", "__getitem__"})
_HANDING_ON = ("builtins.", "types.SimpleNamespace", "argparse.Namespace")
_MOST = 32  # uses of one name, and calls of one helper, that are looked at


def parsed_settings(script: Script) -> int:
    """Return how many settings there are beyond one for each variable and flag."""
    flags: set[str] | None = None
    more = 0
    for call, text in _parses(script):
        if flags is None:
            flags = {flag.key.lstrip("-").replace("-", "_") for flag in find_flags(script)}
        if any(_is_outside(script, part, flags) for part in sources(script, text)):
            more += max(0, len(set(_keys(script, call))) - 1)
    return more


def _parses(script: Script) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield what makes many things of one text, with the text."""
    for _, call in script.calling(_PARSERS):
        if call.args:
            yield call, call.args[0].value
    for word in sorted(_CUTTING & script.mentions.keys()):
        for mention in script.mentions[word]:
            method = script.tree.parent(mention)
            call_ = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
            if isinstance(call_, cst.Call) and isinstance(method, cst.Attribute) and call_.func is method:
                yield call_, method.value


def _is_outside(script: Script, part: cst.CSTNode, flags: set[str]) -> bool:
    """Tell whether a part of an expression is a variable of the environment or a flag."""
    if isinstance(part, cst.Call):
        return any(path.startswith(("os.environ.", "os.getenv")) for path in script.path_of(part))
    if isinstance(part, cst.Subscript):
        return "os.environ" in script.values.paths(part.value)
    return isinstance(part, cst.Attribute) and part.attr.value in flags


def _keys(script: Script, made: cst.CSTNode) -> Iterator[object]:
    """Yield what is taken out of a thing: constant keys, names, the places of an unpacking."""
    node: cst.CSTNode = made
    above = script.tree.parent(node)
    while isinstance(above, cst.Arg | cst.Call | cst.Await | cst.NamedExpr):
        if isinstance(above, cst.Call) and not any(p.startswith(_HANDING_ON) for p in script.path_of(above)):
            return
        node, above = above, script.tree.parent(above)
    yield from _taken(script, node)
    if isinstance(above, cst.Assign):
        for target in (t.target for t in above.targets):
            if isinstance(target, cst.Tuple | cst.List):
                yield from range(len(target.elements))
            for read in read_in(script, target)[:_MOST] if isinstance(target, cst.Name | cst.Attribute) else ():
                yield from _taken(script, read)


def _taken(script: Script, node: cst.CSTNode) -> Iterator[object]:
    above = script.tree.parent(node)
    if isinstance(above, cst.Subscript) and above.value is node and isinstance(above.slice[0].slice, cst.Index):
        yield from _constants(script, above.slice[0].slice.value)
    elif isinstance(above, cst.Attribute) and above.value is node:
        call = script.tree.parent(above)
        if not isinstance(call, cst.Call) or call.func is not above:
            yield above.attr.value
        elif above.attr.value in _READING and call.args:
            yield from _constants(script, call.args[0].value)


def _constants(script: Script, key: cst.BaseExpression) -> Iterator[object]:
    """Yield what a key is, for each call of the helper that is given it."""
    value = script.values.constant(key)
    if isinstance(value, str | int):
        yield value
    elif isinstance(key, cst.Name):
        helper = script.scopes.function_of(key)
        if helper is None:
            return
        for call, own in script.calls.sites.get(id(helper), ())[:_MOST]:
            given = script.values.constant(script.calls.arguments(helper, call, own).get(key.value))
            if isinstance(given, str | int):
                yield given
