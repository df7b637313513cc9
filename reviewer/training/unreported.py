"""Where a script trains that reports no step: the place to which its report belongs.

An optimizer that is stepped comes first, then a `backward()` under whatever name the step has, then parameters that are
changed in place, as evolution strategies and other methods without gradients do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.ways import is_loop
from reviewer.script import Script
from reviewer.training.adapting import IN_PLACE
from reviewer.training.learned import is_parameter
from reviewer.training.stepping import steps

_ASIDE = re.compile(
    r"(^|_)(eval\w*|val|valid\w*|ttt|test\w*|adapt\w*|scor\w*|prob\w*|diagnos\w*|calib\w*)(_|$)"
)  # no training
_SETTING_UP = re.compile(r"(^|_)(init\w*|reset\w*|load\w*|restore\w*|ema|swa|average\w*|quant\w*|export\w*)(_|$)")
_MOST_SITES = 8
_MOST_CHANGES = 64


def unreported(script: Script) -> tuple[cst.Call, str] | None:
    """Return where a script trains, and what it does there; None where it trains nothing."""
    stepping = [call for call, _ in steps(script) if _is_repeated(script, call)]
    if stepping:
        training = [call for call in stepping if not _ASIDE.search(_home(script, call))]
        measured = [call for call in training if not _warms_up(script, call)]
        return (measured or training or stepping)[0], "This steps the optimizer"
    backward = next((call for call in _methods(script, "backward") if _is_repeated(script, call)), None)
    if backward is not None:  # what is stepped has a name that tells nothing
        return backward, "This trains"
    changes = [call for call in _changes(script) if _is_repeated(script, call) and not _sets_up(script, call)]
    return (changes[-1], "This changes parameters without an optimizer") if changes else None


def _warms_up(script: Script, call: cst.Call) -> bool:
    """Tell whether a step is in a loop that warms up what is compiled, and is undone before the training begins."""
    loops = [above for above in script.tree.ancestors(call) if isinstance(above, cst.For)]
    return any("warm" in script.tree.code(part) for loop in loops for part in (loop.target, loop.iter))


def _methods(script: Script, method: str) -> Iterator[cst.Call]:
    for name in script.mentions.get(method, ()):
        above = script.tree.parent(name)
        call = script.tree.parent(above) if isinstance(above, cst.Attribute) and above.attr is name else None
        if isinstance(call, cst.Call) and call.func is above:
            yield call


def _changes(script: Script) -> Iterator[cst.Call]:
    """Yield what changes parameters in place, in source order: `p.data.add_(…)`, `p.add_(…)`."""
    if "parameters" not in script.mentions:
        return
    found = [call for method in sorted(IN_PLACE & script.mentions.keys()) for call in _methods(script, method)]
    order = {id(call): n for n, call in enumerate(script.tree.of(cst.Call))}
    for call in sorted(found[:_MOST_CHANGES], key=lambda one: order[id(one)]):
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        shared = isinstance(base, cst.Attribute) and base.attr.value == "data"
        if base is not None and (shared or is_parameter(script, base)):
            yield call


def _sets_up(script: Script, call: cst.Call) -> bool:
    """Tell whether parameters get their first values, or those of an average or of a file."""
    function = script.scopes.function_of(call)
    if isinstance(function, cst.FunctionDef) and isinstance(script.scopes.of(function).node, cst.ClassDef):
        return True
    return bool(_ASIDE.search(_home(script, call)) or _SETTING_UP.search(_home(script, call)))


def _home(script: Script, call: cst.Call) -> str:
    function = script.scopes.function_of(call)
    return function.name.value if isinstance(function, cst.FunctionDef) else ""


def _is_repeated(script: Script, call: cst.Call) -> bool:
    """Tell whether a step is in a loop, or in a function that is called in one. A wrapper's `step` trains nothing."""
    function = script.scopes.function_of(call)
    if function is None:
        return any(is_loop(above) for above in script.tree.ancestors(call))
    if isinstance(function, cst.FunctionDef) and function.name.value == "step":
        return False
    method = isinstance(script.scopes.of(function).node, cst.ClassDef)
    sites = [site for site, _ in script.calls.sites.get(id(function), ())[:_MOST_SITES]] if not method else []
    return any(is_loop(above) for place in (call, *sites) for above in script.tree.ancestors(place))
