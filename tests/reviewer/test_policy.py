"""A policy is read strictly: whatever is wrong is named by its key."""

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
    ],
)
def test_a_wrong_setting_is_named(table: dict[str, Any], key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping(table)
    assert caught.value.key == key
    assert str(caught.value).startswith(f"policy.{key}: ")


def test_a_policy_survives_its_table() -> None:
    policy = Policy("7", 1_000, {"K101": "info"}, frozenset({"A", "B"}), "x = 1\n", frozenset({"/data", "/a/.b"}))
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
