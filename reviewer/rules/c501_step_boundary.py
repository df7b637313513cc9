"""C501 step-boundary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.examples.boundary import INVALID, VALID
from reviewer.finding.shadows import is_fallback
from reviewer.following.ways import is_loop
from reviewer.found import Found
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.training.boundaries import Boundaries
from reviewer.training.stepping import BOUNDARY, boundaries, is_boundary, steps

_ASIDE = re.compile(
    r"(^|_)(eval\w*|val|valid\w*|ttt|test\w*|adapt\w*|scor\w*|prob\w*|diagnos\w*|calib\w*)(_|$)"
)  # no training
_REMEDY = f"Call `{BOUNDARY}(step)` once in each turn of the training loop, after the optimizer's step."


class StepBoundary(Rule):
    """Requires one report of each step of the optimizer.

    What it looks for
        Calls of the kit's `record_step_boundary`, also in helpers: missing although an optimizer is stepped, outside of
        the loop that steps it, in an inner loop, twice in one turn, under a condition that the step is not under,
        skipped by a `continue` or `return` behind the step, before the step or before the device is waited for, with
        a number that does not count, or replaced by a function of the file. A condition that lets process 0 through
        is fine, since only its reports count.

    Why it is refused
        The platform starts the clock at one of these reports and counts steps by them. A report that is missing,
        early or doubled moves that point, and the step times on the receipt are wrong.

    Do instead
        After `optimizer.step()`, and after `torch.cuda.synchronize()` where there is one, call
        `record_step_boundary(step)` with the loop's own counter. With accumulated gradients, call it once for all
        micro-batches of a step.
    """

    code = "C501"

    VALID: ClassVar = VALID
    INVALID: ClassVar = INVALID

    def check(self, script: Script) -> Iterator[Found]:
        calls = boundaries(script)
        yield from _replaced(script)
        if calls:
            for place, what, severity in Boundaries(script, calls).found():
                yield _found(place, what, severity)
        else:
            yield from _missing(script)


def _missing(script: Script) -> Iterator[Found]:
    """Say once that nothing is reported, at the first step that stands in a loop."""
    paths = {path for _, path in script.imports if is_boundary(path)}
    if script.packed:
        return
    for _, node in script.handing_on(paths | {f"prepare.{BOUNDARY}"}):
        yield _found(node, f"`{BOUNDARY}` is handed on, so how often it is called cannot be seen", "review")
        return
    stepping = [call for call, _ in steps(script) if _is_repeated(script, call)]
    if stepping:
        call = next((c for c in stepping if not _ASIDE.search(_home(script, c))), stepping[0])
        yield _found(call, f"This steps the optimizer, and nothing in the file calls the kit's `{BOUNDARY}`")
        return
    for name in script.mentions.get("backward", ()):  # what is stepped has a name that tells nothing
        method = script.tree.parent(name)
        call_ = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
        if isinstance(call_, cst.Call) and call_.func is method and _is_repeated(script, call_):
            yield _found(call_, f"This trains, and nothing in the file calls the kit's `{BOUNDARY}`")
            return


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
    sites = [site for site, _ in script.calls.sites.get(id(function), ())[:8]] if not method else []
    return any(is_loop(above) for place in (call, *sites) for above in script.tree.ancestors(place))


def _replaced(script: Script) -> Iterator[Found]:
    """Find a function of the file that takes the place of the kit's, except where the kit may be missing."""
    module = script.scopes.module
    for name in sorted({name for name, path in script.imports if is_boundary(path)}):
        bindings = module.names.get(name, ())
        if not any(b.kind == "ref" for b in bindings):
            continue
        for binding in bindings:
            node = binding.node
            if binding.kind not in ("def", "expr") or node is None or is_fallback(script, node):
                continue
            if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda) or not any(
                is_boundary(path) for path in script.values.paths(node)
            ):
                yield _found(node, f"`{name}` is the kit's step boundary, and something else takes its name here")


def _found(node: cst.CSTNode, what: str, at_most: Severity = "reject") -> Found:
    return Found(node, f"{what}.", _REMEDY, at_most)
