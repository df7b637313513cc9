"""A policy is read strictly: whatever is wrong is named by its key."""

from dataclasses import replace
from typing import Any

import pytest

from reviewer import Policy, PolicyError
from reviewer.policy import CATALOGUE, SEVERITIES


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"colour": 1}, "colour"),
        ({"version": 1}, "version"),
        ({"version": ""}, "version"),
        ({"max_bytes": "10"}, "max_bytes"),
        ({"max_bytes": True}, "max_bytes"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"rules": ["K101"]}, "rules"),
        ({"rules": {"K999": "reject"}}, "rules.K999"),
        ({"rules": {"G001": "off"}}, "rules.G001"),
        ({"rules": {"K101": "fatal"}}, "rules.K101"),
        ({"allow_env": "LR"}, "allow_env"),
        ({"allow_env": ["L R"]}, "allow_env"),
        ({"allow_env": [3]}, "allow_env"),
        ({"allow_paths": "/data"}, "allow_paths"),
        ({"allow_paths": ["data"]}, "allow_paths"),
        ({"allow_paths": ["/"]}, "allow_paths"),
        ({"allow_paths": ["/data/"]}, "allow_paths"),
        ({"allow_paths": ["/data/../etc"]}, "allow_paths"),
        ({"allow_paths": ["/data/."]}, "allow_paths"),
        ({"allow_paths": [3]}, "allow_paths"),
        ({"baseline": 3}, "baseline"),
        ({"allow_flags": "--lr"}, "allow_flags"),
        ({"allow_flags": ["lr"]}, "allow_flags"),
        ({"allow_flags": ["--lr=1"]}, "allow_flags"),
        ({"allow_imports": ["wandb "]}, "allow_imports"),
        ({"allow_imports": [".config"]}, "allow_imports"),
        ({"only_imports": "torch"}, "only_imports"),
        ({"only_imports": ["torch.*"]}, "only_imports"),
        ({"only_imports": None}, "only_imports"),
        ({"preset": "easy"}, "preset"),
        ({"preset": ["time-budget"]}, "preset"),
        ({"preset": "speed-run"}, "preset"),
        ({"preset": "time-budget", "rules": {"K999": "off"}}, "rules.K999"),
    ],
)
def test_a_wrong_setting_is_named(table: dict[str, Any], key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping(table)
    assert caught.value.key == key
    assert str(caught.value).startswith(f"policy.{key}: ")


def test_a_policy_survives_its_table() -> None:
    policy = Policy("7", 1_000, {"K101": "info"}, frozenset({"A", "B"}), "x = 1\n", frozenset({"/data", "/a/.b"}))
    policy = replace(
        policy, allow_flags=frozenset({"--lr"}), allow_imports=frozenset({"a.b"}), only_imports=frozenset()
    )
    assert Policy.from_mapping(policy.to_mapping()) == policy
    assert Policy.from_mapping({}) == Policy()
    assert Policy().severity("K101") == "reject"
    assert policy.severity("K101") == "info"


def test_the_launcher_may_always_be_asked() -> None:
    assert Policy().allows_env("LOCAL_RANK")
    assert not Policy().allows_env("LR")


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_rule_can_be_set(code: str) -> None:
    for severity in SEVERITIES:
        assert Policy.from_mapping({"rules": {code: severity}}).severity(code) == severity
    assert Policy().severity(code) == CATALOGUE[code][1]


def test_a_path_is_allowed_with_all_below_it() -> None:
    policy = Policy(allow_paths=frozenset({"/data", "/opt/cache"}))
    assert all(policy.allows_path(p) for p in ("/data", "/data/", "/data/a/b", "/opt/cache/x"))
    assert not any(policy.allows_path(p) for p in ("/database", "/opt", "/", "", "data", "/data/../etc"))
    assert not Policy().allows_path("/data")


def test_a_table_of_a_policy_names_every_rule_and_every_list() -> None:
    table = Policy.from_mapping({"rules": {"K101": "warn"}}).to_mapping()
    assert table["rules"] == {code: default for code, (_, default) in CATALOGUE.items()} | {"K101": "warn"}
    assert {"allow_env", "allow_flags", "allow_imports", "allow_paths", "max_bytes", "version"} < table.keys()


def test_a_finding_may_be_made_more_severe_than_its_rule_is_unless_the_rule_says_that_it_is_mild() -> None:
    strict = Policy(rules={"S403": "reject", "S404": "reject"})
    assert Policy().severity("S403", "review") == "review"
    assert strict.severity("S403", "review") == "reject"
    assert strict.severity("S403", "info") == "info"
    assert strict.severity("S404", "review") == "review"
    assert Policy(rules={"S404": "info"}).severity("S404", "review") == "info"
