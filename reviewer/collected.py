"""What a report says beside its findings, each collected by itself: one that fails takes nothing else with it.

A collector that a text breaks must neither let the text through unseen nor turn it away: what could not be collected
is named, and a person looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from reviewer import gate
from reviewer.baselines.sections import graded
from reviewer.budget import TooMuch
from reviewer.claims import claims_of
from reviewer.drift import drift_of
from reviewer.evaluation.reach import reached_at_evaluation
from reviewer.report import Finding, Knob
from reviewer.script import Script

_Collect = Callable[[Script, Sequence[Finding], Sequence[Knob]], Any]
_COLLECTORS: dict[str, tuple[str, _Collect]] = {
    "drift": ("what changed since the version before", lambda script, findings, knobs: drift_of(script, knobs)),
    "sections": ("how frozen sections compare", lambda script, findings, knobs: graded(script)),
    "claims": ("what its comments claim", lambda script, findings, knobs: claims_of(script, findings)),
    "calls": ("what runs at evaluation", lambda script, findings, knobs: reached_at_evaluation(script)),
}


def collected(
    script: Script, findings: Sequence[Finding], knobs: Sequence[Knob]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the fields of a report by their names, without those that fail, and a finding for each of these."""
    facts: dict[str, Any] = {}
    missing = []
    for name, (what, collect) in _COLLECTORS.items():
        try:
            facts[name] = collect(script, findings, knobs)
        except Exception as error:  # as with a rule: whatever a text does to it must not decide
            missing.append(_missing(what, error))
    return facts, missing


def _missing(what: str, error: Exception) -> Finding:
    said = f"The report cannot say {what} ({type(error).__name__}), so a person has to look; that is our fault."
    remedy = "Nothing to do; an organizer reads it."
    if isinstance(error, TooMuch):
        said = f"To say {what} would take too long for this file, so a person has to look."
        remedy = "Write it more plainly to be judged at once: fewer paths in one function, fewer names for one thing."
    return replace(gate.refusal("G016", f"{said}\n{remedy}"), severity="review")
