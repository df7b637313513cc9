"""Variables of the environment that a script sets, for itself and for the libraries that it loads."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.values import ENVIRON

_SETTING = (f"{ENVIRON}.setdefault", f"{ENVIRON}.__setitem__", "os.putenv")
_HOPS = 3
_STEPS = 16

Set = tuple[cst.CSTNode, str, cst.BaseExpression | None]  # the place, the variable, and its value


def set_variables(script: Script) -> Iterator[Set]:
    """Yield every variable that is set under a name that can be read; through a helper, where that is called."""
    for target in script.tree.of(cst.AssignTarget):
        place = target.target
        if type(place) is cst.Subscript and ENVIRON in script.values.paths(place.value):
            index = place.slice[0].slice if len(place.slice) == 1 else None
            assign = script.tree.parent(target)
            if isinstance(index, cst.Index) and isinstance(assign, cst.Assign):
                yield from _named(script, assign, index.value, assign.value)
    for _, call in script.calling(_SETTING):
        if len(call.args) >= 2:
            yield from _named(script, call, call.args[0].value, call.args[1].value)
    for _, call in script.calling((f"{ENVIRON}.update",)):
        for arg in call.args:
            if arg.keyword is not None:
                yield call, arg.keyword.value, arg.value
            elif isinstance(arg.value, cst.Dict):
                for element in arg.value.elements:
                    if isinstance(element, cst.DictElement):
                        yield from _named(script, element, element.key, element.value)


def _named(
    script: Script, place: cst.CSTNode, key: cst.BaseExpression, value: cst.BaseExpression, hops: int = 0
) -> Iterator[Set]:
    name = script.values.constant(key)
    name = name.decode("latin-1") if isinstance(name, bytes) else name
    if isinstance(name, str):
        yield place, name, value
        return
    helper = script.scopes.function_of(place)
    if not isinstance(key, cst.Name) or not isinstance(helper, cst.FunctionDef) or hops >= _HOPS:
        return
    if not any(p.name.value == key.value for p in parameters(helper)):
        return
    for site, own in script.calls.sites.get(id(helper), ()):
        script.budget.spend(_STEPS)
        given = script.calls.arguments(helper, site, own)
        inner = given.get(value.value, value) if isinstance(value, cst.Name) else value
        if key.value in given:
            yield from _named(script, site, given[key.value], inner, hops + 1)
