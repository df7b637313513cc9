"""What changed since the team's previous version."""

from __future__ import annotations

from collections.abc import Sequence

from reviewer.facts import Drift
from reviewer.report import Knob
from reviewer.script import Script


def drift_of(script: Script, knobs: Sequence[Knob]) -> Drift | None:
    """Return what changed, or None where there is no version before."""
    return None
