"""What is said of a version against the one before, and how knobs that grow in number are named early."""

from dataclasses import replace

import pytest

from reviewer import Context, Policy, Report, drift, review
from reviewer.drift import MOST_NAMES
from reviewer.facts import Drift

BEFORE = """\
import os

LR = float(os.environ.get("LR", "0.1"))
WD = float(os.environ.get("WD", "0.0"))


def old(x):
    return x


class Model:
    def forward(self, x):
        def inner(y):
            return y * 2
        return inner(x)

    def kept(self):
        # a remark
        return [1,
                2]
"""
NOW = """\
import os

HEADS = int(os.environ.get("HEADS", "4"))
LR = float(os.environ.get("LR", "0.1")) + float(os.environ.get("LR", "0.1"))


class Model:
    def forward(self, x):
        def inner(y):
            return y * 3
        return inner(x)

    def kept(self):
        return [1, 2]


if LR:
    async def new(x):
        return x
"""


def drifted(now: str, before: str | None, policy: Policy | None = None) -> Drift | None:
    return review(now, policy, context=Context(previous=before), isolated=False).drift


def test_knobs_and_functions_are_compared_by_name() -> None:
    assert drifted(NOW, BEFORE) == Drift(
        knobs_before=2,
        knobs_now=2,
        knobs_added=("HEADS",),
        knobs_removed=("WD",),
        functions_added=("new",),
        functions_removed=("old",),
        functions_changed=("Model.forward", "Model.forward.inner"),
        sections_changed=(),
    )


def test_the_same_text_has_not_drifted() -> None:
    assert drifted(NOW, NOW) == Drift(2, 2, (), (), (), (), (), ())


def test_without_a_version_before_nothing_is_said() -> None:
    assert drifted(NOW, None) is None


@pytest.mark.parametrize(
    "before",
    ["", "x =", "\0", "(" * 5_000, "\udcff", "exec(__import__('base64').b64decode('////'))", "a = 1\n" * 100_000],
    ids=["empty", "half", "nul", "deep", "surrogate", "undecodable", "large"],
)
def test_a_version_before_that_cannot_be_read_ends_no_audit(before: str) -> None:
    report = review(NOW, context=Context(previous=before), isolated=False)
    without = review(NOW, isolated=False)
    if report.drift is None:
        assert report == without
    else:  # Python reads it, and it has nothing of what this one has
        assert report.drift.knobs_before == 0
        assert replace(report, drift=None) == without


def test_a_version_before_that_would_take_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = "".join(f"    g{j}(k)\n" for j in range(20))
    before = (
        "import os\n" + "".join(f"def g{i}(k):\n{calls}    return os.environ[k]\n" for i in range(20)) + "g0('A')\n"
    )
    assert drifted(NOW, before) is not None
    monkeypatch.setattr(drift, "MOST_STEPS", 100)
    assert drifted(NOW, before) is None


def test_what_was_packed_is_compared_by_what_it_carried() -> None:
    import base64

    payload = base64.b64encode(BEFORE.encode()).decode()
    packed = f"import base64\nexec(base64.b64decode('{payload}'))\n"
    assert drifted(NOW, packed) == drifted(NOW, BEFORE)
    assert drifted(packed, BEFORE) == Drift(2, 2, (), (), (), (), (), ())


def test_frozen_sections_that_changed_are_named() -> None:
    accepted = [{"name": "a", "date": "2026-01-01", "text": "x = 1"}]
    sections = [{"name": "Old", "definitions": ["old"], "accepted": accepted}]
    sections.append({"name": "Kept", "definitions": ["LR"], "accepted": accepted})
    policy = Policy.from_mapping({"sections": sections})
    before = BEFORE.replace("LR = float", "LR  =  float")
    changed = drifted(BEFORE.replace("return x", "return -x"), before, policy)
    assert changed is not None
    assert changed.sections_changed == ("Old",)


def test_long_lists_are_cut_and_say_so() -> None:
    many = "".join(f"def f{i}(): pass\n" for i in range(MOST_NAMES + 7))
    drift = drifted(many, "x = 1\n")
    assert drift is not None
    assert len(drift.functions_added) == MOST_NAMES + 1
    assert drift.functions_added[-1] == "… and 7 more"


def grown(counts: tuple[int, ...], now: int) -> Report:
    text = "import os\n" + "".join(f"K{i} = os.environ.get('K{i}', '1')\n" for i in range(now))
    return review(text, context=Context(knob_counts=counts), isolated=False)


def warned(counts: tuple[int, ...], now: int) -> bool:
    return any(f.rule == "K105" and f.severity == "warn" for f in grown(counts, now).findings)


def test_growth_is_told_with_each_versions_count() -> None:
    (said,) = [f for f in grown((5, 5, 6, 8, 12), 14).findings if f.rule == "K105"]
    assert "5, 5, 6, 8, 12 → 14, counted over the last 5 versions and this one" in said.message


def test_a_file_that_grew_to_fifty_knobs_is_named_at_its_second_step() -> None:
    history = [5, 7, 8, 8, 10, 12, 14, 15, 17, 19, 21, 23, 24, 26, 28, 30, 31, 33, 35, 37, 38, 40, 42, 45, 48, 50]
    told = [at for at in range(1, len(history)) if warned(tuple(history[max(0, at - 5) : at]), history[at])]
    assert told[0] == 1
    assert len(told) >= 24


@pytest.mark.parametrize(
    ("counts", "now", "told"),
    [
        ((), 50, False),
        ((5,), 6, False),
        ((5,), 7, True),
        ((5, 6), 7, True),
        ((9, 9, 9), 9, False),
        ((12, 12, 12, 12, 12), 3, False),
        ((5, 12, 12, 12, 12), 12, False),
        ((5, 12, 5, 5, 5), 8, True),
        ((1, 20, 20, 20, 20, 20), 20, False),  # what is longer ago than five versions does not count
    ],
)
def test_what_is_growth(counts: tuple[int, ...], now: int, told: bool) -> None:
    assert warned(counts, now) is told
