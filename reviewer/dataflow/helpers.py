"""Follows an argument through the helpers that only hand it on, to the calls where it is given."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.scope import parameters
from reviewer.script import Script

_HOPS = 4
_STEPS = 32  # what one call of a helper costs, with what a rule then makes of it

Given = tuple[cst.CSTNode, cst.BaseExpression | None]  # where to report, and what is given there


def where_given(script: Script, place: cst.CSTNode, given: cst.BaseExpression | None, hops: int = 0) -> Iterator[Given]:
    """Yield what stands for an expression, and where: at the helper's calls if it is a parameter of the helper.

    A helper that is also handed on as a value is not followed, since not all of its calls can be seen.
    """
    helper = script.scopes.function_of(place)
    if isinstance(given, cst.Name) and isinstance(helper, cst.FunctionDef) and hops < _HOPS:
        is_parameter = any(p.name.value == given.value for p in parameters(helper))
        sites = script.calls.sites.get(id(helper), ())
        if (
            is_parameter
            and sites
            and script.values.constant(given) is UNKNOWN
            and helper.name.value not in script.handed_on
        ):
            for site, own in sites:
                script.budget.spend(_STEPS)
                argument = script.calls.arguments(helper, site, own).get(given.value)
                yield from where_given(script, site, argument, hops + 1)
            return
    yield place, given
