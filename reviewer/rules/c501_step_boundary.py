"""C501 step-boundary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.examples.boundary import INVALID, VALID
from reviewer.found import Found
from reviewer.matchers.shadows import is_fallback
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.training.boundaries import Boundaries
from reviewer.training.stepping import BOUNDARY, boundaries, is_boundary
from reviewer.training.unreported import unreported

_REMEDY = f"Call `{BOUNDARY}(step)` once in each turn of the training loop, after the optimizer's step."


class StepBoundary(Rule):
    """Requires one report of each step of the optimizer.

    What it looks for
        Calls of the kit's `record_step_boundary`, also in helpers: missing although an optimizer is stepped or
        parameters are changed in a loop without one, outside of the loop that steps it, in an inner loop, twice in
        one turn, under a condition that the step is not under, skipped by a `continue` or `return` behind the step,
        before the step or before the device is waited for, with a number that does not count, or replaced by a
        function of the file. A condition that lets process 0 through is fine, since only its reports count. One that
        is missing is told where the training steps, and not at a warm-up that is undone.

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
    """Say once that nothing is reported, where the training is."""
    paths = {path for _, path in script.imports if is_boundary(path)}
    if script.packed:
        return
    for _, node in script.handing_on(paths | {f"prepare.{BOUNDARY}"}):
        yield _found(node, f"`{BOUNDARY}` is handed on, so how often it is called cannot be seen", "review")
        return
    place = unreported(script)
    if place is not None:
        yield _found(place[0], f"{place[1]}, and nothing in the file calls the kit's `{BOUNDARY}`")


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
