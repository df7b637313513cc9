"""Every rule that repairs shows it: the text before, the text after, and nothing left to say about it."""

import pytest

from reviewer import fix
from reviewer.rules import load
from reviewer.rules.base import Rule
from tests.reviewer.test_rules import launch_of

EXAMPLES = [pytest.param(rule, pair, id=f"{rule.code}-{n}") for rule in load() for n, pair in enumerate(rule.FIXED)]


@pytest.mark.parametrize(("rule", "pair"), EXAMPLES)
def test_a_repair_gives_exactly_this_text(rule: Rule, pair: tuple[str, str]) -> None:
    before, after = pair
    fixed = fix(before, rule.POLICY, launch=launch_of(before), also={rule.code}, isolated=False)
    assert fixed.text == after
    assert bool(fixed.edits) is (before != after)
    compile(after, "example", "exec")
    if before != after:
        assert not [f for f in fixed.remaining if f.rule == rule.code and f.severity != "info"]


@pytest.mark.parametrize(("rule", "pair"), EXAMPLES)
def test_what_is_repaired_needs_no_repair(rule: Rule, pair: tuple[str, str]) -> None:
    again = fix(pair[1], rule.POLICY, launch=launch_of(pair[0]), also={rule.code}, isolated=False)
    assert again.text == pair[1]
    assert again.edits == ()
