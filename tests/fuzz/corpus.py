"""The texts that mutations begin with: our own scripts and every example of every rule."""

from functools import cache
from pathlib import Path

from reviewer.rules import load
from tests.reviewer.scripts import BASELINE, KNOBS

_DEMO = Path(__file__).resolve().parents[2] / "deploy" / "demo" / "scripts"


@cache
def scripts() -> tuple[str, ...]:
    """Return whole scripts, honest ones and others."""
    return (BASELINE, KNOBS, *(path.read_text(encoding="utf-8") for path in sorted(_DEMO.glob("*.py"))))


@cache
def examples() -> tuple[str, ...]:
    """Return the small texts that are the tests of the rules, some two thousand."""
    found = dict.fromkeys(text for rule in load() for text in (*rule.VALID, *rule.INVALID))
    found |= dict.fromkeys(text for rule in load() for pair in rule.FIXED for text in pair)
    return tuple(found)
