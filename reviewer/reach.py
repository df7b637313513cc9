"""Which functions can run once the platform calls `load_for_eval`."""

from __future__ import annotations

from reviewer.facts import Reached
from reviewer.script import Script


def reached_at_evaluation(script: Script) -> tuple[Reached, ...]:
    """Return them in source order."""
    return ()
