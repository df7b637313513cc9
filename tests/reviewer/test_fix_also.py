"""What is repaired: what stops the script under its policy, and the rules that were asked for."""

from collections.abc import Collection

import pytest

from reviewer import Fixed, Policy, fix


def fixed(text: str, policy: Policy | None = None, also: Collection[str] = ()) -> Fixed:
    return fix(text, policy, also=also, isolated=False)


FALLBACK = "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\nprint(flash_attn)\n"
SEEDED = "import torch\ntorch.manual_seed(1)\n"


def test_what_only_warns_is_repaired_when_it_is_asked_for() -> None:
    text = FALLBACK + SEEDED + "import os\nprint(os.environ.get('A', '1'))\n"
    found = fixed(text)
    assert found.text == FALLBACK + SEEDED + 'print("1")\n'
    assert found.more == {"H701": 1, "H704": 1}
    assert {f.rule for f in found.remaining if f.fixable} == {"H701", "H704"}
    one = fixed(text, also={"H701"})
    assert one.text == "import flash_attn\nprint(flash_attn)\n" + SEEDED + 'print("1")\n'
    assert one.more == {"H704": 1}
    assert fixed(text, also={"H701", "H704"}).more == {}


def test_the_policy_says_what_stops() -> None:
    assert fixed(FALLBACK, Policy(rules={"H701": "review"})).text == "import flash_attn\nprint(flash_attn)\n"
    knob = "import os\nprint(os.environ.get('A', '1'))\n"
    mild = Policy(rules={"K101": "warn"})
    assert fixed(knob, mild).text == knob
    assert fixed(knob, mild).more == {"K101": 1}
    assert fixed(knob, mild, also={"K101"}).text == 'print("1")\n'
    assert fixed(knob, Policy(rules={"K101": "off"}), also={"K101"}).text == knob


def test_lines_of_the_baseline_are_left_alone() -> None:
    knob = "import os\nprint(os.environ.get('A', '1'))\n"
    found = fixed(knob, Policy(baseline=knob))
    assert (found.text, found.more) == (knob, {})


def test_a_rule_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="H799"):
        fix("x = 1\n", also={"H799"})


def test_the_process_is_told_what_was_asked_for() -> None:
    assert fix(FALLBACK, also={"H701"}) == fixed(FALLBACK, also={"H701"})
