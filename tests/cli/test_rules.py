"""`submit rules`: what the audit looks for, on the command line."""

import json

import pytest

from reviewer import rules_in_force
from tests.cli.conftest import Prompt


def test_all_rules_are_listed_with_their_severity(stranger: Prompt) -> None:
    ended = stranger.submit("rules")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split()[:3] for line in lines] == [[r.code, r.severity, r.name] for r in rules_in_force()]
    assert all(line.endswith(rule.summary) for line, rule in zip(lines, rules_in_force(), strict=True))


def test_one_rule_is_its_page(stranger: Prompt) -> None:
    (rule,) = (r for r in rules_in_force() if r.code == "K101")
    for word in ("K101", "k101", "env-read"):
        ended = stranger.submit("rules", word)
        assert ended.code == 0
        assert ended.out.startswith("K101 env-read: reject, stops the script\n")
        assert rule.text in ended.out
        assert f"    {rule.invalid[0].splitlines()[0]}\n" in ended.out
        assert f"    {rule.valid[0].splitlines()[0]}\n" in ended.out


def test_severities_are_those_of_a_policy(stranger: Prompt) -> None:
    stranger.write("policy.toml", '[policy.rules]\nK101 = "off"\n')
    assert stranger.submit("rules", "K101", "--policy", "policy.toml").out.startswith("K101 env-read: off, not applied")


@pytest.mark.parametrize(
    ("word", "near"), [("K1O1", "K101"), ("envread", "env-read"), ("nothing-like-it", "lists all")]
)
def test_an_unknown_code_is_told_what_is_close(stranger: Prompt, word: str, near: str) -> None:
    ended = stranger.submit("rules", word)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert near in ended.err


def test_programs_get_objects(stranger: Prompt) -> None:
    ended = stranger.submit("rules", "K101", "T901", "--json")
    said = [json.loads(line) for line in ended.out.splitlines()]
    assert [(one["rule"], one["severity"]) for one in said] == [("K101", "reject"), ("T901", "reject")]
    assert "# !" in said[0]["invalid"][0]
