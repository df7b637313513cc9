"""The rules, found by their codes, so that importing this imports no parser."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.catalogue import CATALOGUE, class_of, module_of

if TYPE_CHECKING:
    from reviewer.rules.base import Rule

# A rule is in force as soon as its file is there.
WRITTEN = tuple(code for code in CATALOGUE if Path(__file__).with_name(f"{module_of(code)}.py").exists())


@cache
def load() -> tuple[Rule, ...]:
    """Import every rule and return one instance of each."""
    found: list[Rule] = []
    for code in WRITTEN:
        module = import_module(f"reviewer.rules.{module_of(code)}")
        found.append(getattr(module, class_of(code))())
    return tuple(found)
