"""What each rule says of itself, for pages and other programs, without importing a rule and the parser with it."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reviewer.catalogue import CATALOGUE, class_of, module_of
from reviewer.examples.source import examples_of
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
    valid: tuple[str, ...] = ()  # texts in which it finds nothing
    invalid: tuple[str, ...] = ()  # texts in which it finds each line that ends with `# !`


@cache
def rules_in_force() -> tuple[RuleText, ...]:
    """Return every rule that an audit applies, in the order of the catalogue.

    The words are read from the sources of the rules, once. Raises ValueError if a rule does not explain itself.
    """
    return tuple(rule_text(code) for code in WRITTEN)


@cache
def rule_text(code: str) -> RuleText:
    """Return one rule. Raises KeyError for a code that no rule in force has, ValueError as above."""
    if code not in WRITTEN:
        raise KeyError(code)
    module, name = module_of(code), class_of(code)
    source = Path(__file__).with_name("rules") / f"{module}.py"
    classes = [n for n in ast.parse(source.read_text(encoding="utf-8")).body if isinstance(n, ast.ClassDef)]
    rule = next((c for c in classes if c.name == name), None)
    text = (rule and ast.get_docstring(rule)) or ""
    parts = _HEADINGS.split(text)
    if rule is None or len(parts) != 7:
        raise ValueError(f"{module} does not say what it looks for, why it is refused and what to do instead")
    summary, looks_for, why, instead = (inspect.cleandoc(f"\n{part}") for part in (parts[0], *parts[2::2]))
    examples = (examples_of(source, rule, name) for name in ("VALID", "INVALID"))
    return RuleText(code, *CATALOGUE[code], summary, looks_for, why, instead, text, *examples)
