"""What each rule says of itself, for pages and other programs, without importing a rule and the parser with it."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reviewer.catalogue import CATALOGUE, class_of, module_of
from reviewer.report import Severity
from reviewer.rules import WRITTEN

_HEADINGS = re.compile(r"^(What it looks for|Why it is refused|Do instead)$", re.MULTILINE)


@dataclass(frozen=True)
class RuleText:
    """One rule: its default severity, and its own words as paragraphs without the indentation of the source."""

    code: str
    name: str
    severity: Severity
    summary: str
    looks_for: str
    why: str
    instead: str
    text: str  # all of it, with the headings


@cache
def rules_in_force() -> tuple[RuleText, ...]:
    """Return every rule that an audit applies, in the order of the catalogue.

    The words are read from the sources of the rules, once. Raises ValueError if a rule does not explain itself.
    """
    return tuple(_read(code) for code in WRITTEN)


def _read(code: str) -> RuleText:
    module, name = module_of(code), class_of(code)
    source = Path(__file__).with_name("rules") / f"{module}.py"
    classes = [n for n in ast.parse(source.read_text(encoding="utf-8")).body if isinstance(n, ast.ClassDef)]
    text = next((ast.get_docstring(c) for c in classes if c.name == name), None) or ""
    parts = _HEADINGS.split(text)
    if len(parts) != 7:
        raise ValueError(f"{module} does not say what it looks for, why it is refused and what to do instead")
    summary, looks_for, why, instead = (inspect.cleandoc(f"\n{part}") for part in (parts[0], *parts[2::2]))
    rule_name, severity = CATALOGUE[code]
    return RuleText(code, rule_name, severity, summary, looks_for, why, instead, text)
