"""What a script says of itself in docstrings and comments, beside what the rules find."""

from __future__ import annotations

from collections.abc import Sequence

from reviewer.facts import Claim
from reviewer.report import Finding
from reviewer.script import Script


def claims_of(script: Script, findings: Sequence[Finding]) -> tuple[Claim, ...]:
    """Return every claim with the rules that contradict it."""
    return ()
