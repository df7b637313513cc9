"""`submit rules`: every rule with its severity; `submit rules K101`: one rule's page, the same text as on the site."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.cli.errors import Exit, Usage
from leaderboard.cli.show import say, say_json
from leaderboard.cli.terms import read_terms

if TYPE_CHECKING:
    from reviewer import RuleText
    from reviewer.report import Severity

_FOUND = "Found, where a line ends with `# !`; a word behind that is how severe it is there"
_SAYS = {
    "reject": "stops the script",
    "review": "an organizer reads it first",
    "warn": "to know",
    "info": "to know",
    "off": "not applied",
}


def rules(codes: Sequence[str], *, policy: Path | None, as_json: bool) -> Exit:
    """List the rules, or print the pages of some. Raises Usage for a code that there is not, with close ones."""
    from reviewer import Policy, rules_in_force

    terms = read_terms(policy).policy or Policy()
    every = {rule.code: rule for rule in rules_in_force()}
    if not codes:
        for rule in every.values():
            severity = terms.severity(rule.code)
            say_json(_plain(rule, severity)) if as_json else say(_line(rule, severity))
        return Exit.OK
    chosen = [_find(code, every) for code in codes]
    for at, rule in enumerate(chosen):
        severity = terms.severity(rule.code)
        if as_json:
            say_json(_plain(rule, severity) | {"text": rule.text, "valid": rule.valid, "invalid": rule.invalid})
            continue
        if at:
            say("")
        for line in _page(rule, severity):
            say(line)
    return Exit.OK


def _find(code: str, every: dict[str, RuleText]) -> RuleText:
    """Return a rule by its code or by its name, however it is capitalised."""
    names = {rule.name: rule for rule in every.values()}
    if found := every.get(code.upper()) or names.get(code.lower()):
        return found
    near = difflib.get_close_matches(code.upper(), every, 3, 0.5)
    near += difflib.get_close_matches(code.lower(), names, 3, 0.5)
    hint = f"perhaps {' or '.join(near)} is meant" if near else "`submit rules` lists all"
    raise Usage(f"There is no rule {code[:40]!r}; {hint}.")


def _line(rule: RuleText, severity: Severity) -> str:
    return f"{rule.code}  {severity:6}  {rule.name:26} {rule.summary}"


def _plain(rule: RuleText, severity: Severity) -> dict[str, object]:
    return {"event": "rule", "rule": rule.code, "name": rule.name, "severity": severity, "summary": rule.summary}


def _page(rule: RuleText, severity: Severity) -> Iterator[str]:
    from reviewer.examples.source import readable

    yield f"{rule.code} {rule.name}: {severity}, {_SAYS[severity]}"
    yield ""
    yield rule.text
    for heading, texts in ((_FOUND, rule.invalid), ("Not a finding", rule.valid)):
        for text in readable(texts):
            yield f"\n{heading}\n"
            yield from (f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))
