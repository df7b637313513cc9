"""What is known of the launch comes to the rules unchanged, through the limited process as well."""

import pytest

from reviewer import LaunchFacts


def test_a_parsed_launch_is_read_and_written() -> None:
    spec = {"launcher": "torchrun", "processes": 2, "args": ["--lr", "0.1"], "env": {"OMP_NUM_THREADS": "1"}}
    facts = LaunchFacts.of(spec)
    assert facts == LaunchFacts("torchrun", 2, ("--lr", "0.1"), frozenset({"OMP_NUM_THREADS"}))
    assert LaunchFacts.of(facts.to_mapping()) == facts
    assert LaunchFacts.of({**spec, "later": 1}) == facts


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"launcher": "python", "processes": 1, "args": []},
        {"launcher": 1, "processes": 1, "args": [], "env": {}},
        {"launcher": "python", "processes": True, "args": [], "env": {}},
        {"launcher": "python", "processes": 0, "args": [], "env": {}},
        {"launcher": "python", "processes": 1, "args": "--lr", "env": {}},
        {"launcher": "python", "processes": 1, "args": [1], "env": {}},
    ],
)
def test_what_is_no_launch_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"launch|process|args"):
        LaunchFacts.of(wrong)
