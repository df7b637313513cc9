"""Every rule's examples are its tests, and its documentation has the three headings."""

import pytest

from reviewer import LaunchFacts
from reviewer.audit import _apply, _place
from reviewer.catalogue import CATALOGUE
from reviewer.examples.source import marked
from reviewer.rules import load
from reviewer.rules.base import Rule
from reviewer.script import Script

RULES = load()
ORDER = ("reject", "review", "warn", "info", "off")


def launch_of(text: str) -> LaunchFacts | None:
    """Read `# launch: torchrun 2 --lr 0.1`, the launcher, its processes and the words after the file's name."""
    first = text.partition("\n")[0]
    first = (marked(first) or (first,))[0]
    if not first.startswith("# launch: "):
        return None
    launcher, processes, *args = first.removeprefix("# launch: ").split()
    return LaunchFacts(launcher, int(processes), tuple(args))


def found_lines(rule: Rule, text: str) -> dict[int, str]:
    """Return the lines of what a rule finds, each with the worst severity on it."""
    script = Script(text, rule.POLICY, launch=launch_of(text), context=rule.CONTEXT)
    findings, _ = _place(script, [(rule, item) for item in rule.check(script)])
    if type(rule).conclude is not Rule.conclude:  # it speaks once all others have
        findings = [f for f in _apply(script)[0] if f.rule == rule.code]
    quiet = ("off",) if CATALOGUE[rule.code][1] == "info" else ("info", "off")  # some rules only ever inform
    found = sorted((-ORDER.index(f.severity), f.line) for f in findings if f.severity not in quiet)
    return {line: ORDER[-worst] for worst, line in found}


def marked_lines(rule: Rule, text: str) -> dict[int, str]:
    """Return the marked lines: `# !` is of the rule's own severity, `# ! review` and `# ! warn` are milder."""
    marks = enumerate(map(marked, text.split("\n")), start=1)
    return {n: mark[1] or rule.POLICY.severity(rule.code) for n, mark in marks if mark is not None}


@pytest.mark.parametrize(
    ("rule", "text"), [(r, t) for r in RULES for t in r.VALID], ids=lambda x: getattr(x, "code", "")
)
def test_a_rule_is_silent_about_its_valid_examples(rule: Rule, text: str) -> None:
    compile(text, "example", "exec")
    assert found_lines(rule, text) == {}


@pytest.mark.parametrize(
    ("rule", "text"), [(r, t) for r in RULES for t in r.INVALID], ids=lambda x: getattr(x, "code", "")
)
def test_a_rule_finds_exactly_the_marked_lines_as_severe_as_they_say(rule: Rule, text: str) -> None:
    compile(text, "example", "exec")
    assert marked_lines(rule, text), "the example marks nothing"
    assert found_lines(rule, text) == marked_lines(rule, text)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_a_rule_explains_itself(rule: Rule) -> None:
    doc = rule.__doc__ or ""
    headings = [doc.index(h) for h in ("What it looks for", "Why it is refused", "Do instead")]
    assert headings == sorted(headings)
    assert len(rule.VALID) >= 3
    assert len(rule.INVALID) >= 3


def test_the_catalogue_and_the_rules_are_the_same() -> None:
    assert [r.code for r in RULES] == list(CATALOGUE)
