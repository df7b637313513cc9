"""Our own texts, cut, shuffled, spliced and spoiled: always a verdict with a reason, and no rule that breaks.

`make fuzz` does the same a hundred thousand times (`tests/fuzz/`).
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer import Context, Finding, Policy, Report
from tests.fuzz.corpus import examples, scripts
from tests.fuzz.judging import Case, complaint, isolated, wrong_with
from tests.fuzz.mutation import LARGE, SMALL, Change, mutant

PROFILE = settings(
    max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
FEW = settings(PROFILE, max_examples=12)
SERIES = 20_260_201


def case(data: bytes, **terms: object) -> Case:
    given_terms = {"policy": Policy(), "launch": None, "context": None, "repaired": False, **terms}
    return Case(data, **given_terms)  # type: ignore[arg-type]


@PROFILE
@given(st.integers(0, 1 << 32))
def test_mutants_get_a_verdict_with_a_reason(number: int) -> None:
    assert complaint(Case.number(SERIES, number), timed=False) is None


@FEW
@given(st.integers(0, 1 << 32))
def test_mutants_end_no_limited_process(number: int) -> None:
    assert isolated(Case.number(SERIES, number)) is None


@pytest.mark.parametrize("change", [*dict.fromkeys((*SMALL, *LARGE))], ids=lambda c: c.__name__)
def test_each_way_to_change_a_text_is_tried(change: Change) -> None:
    chance = random.Random(change.__name__)  # noqa: S311
    for text in chance.sample(examples(), 5):
        changed = change(chance, text).encode("utf-8", "surrogatepass")
        assert complaint(case(changed, repaired=True), timed=False) is None


@pytest.mark.parametrize("text", scripts(), ids=lambda t: t.split("\n")[0][:30])
def test_a_script_that_ends_anywhere_gets_a_verdict(text: str) -> None:
    chance = random.Random(text)  # noqa: S311
    data = text.encode()
    for end in sorted(chance.sample(range(len(data)), 12)):
        assert complaint(case(data[:end]), timed=False) is None


@pytest.mark.parametrize("before", ["", "\udcff", "\0", "def f(", "x = " + "(" * 300, "é = 1", "a\rb"])
def test_whatever_stood_before_ends_no_audit(before: str) -> None:
    assert complaint(case(scripts()[1].encode(), context=Context(previous=before)), timed=False) is None


def test_a_mutant_is_the_same_each_time() -> None:
    assert [Case.number(1, n) for n in range(20)] == [Case.number(1, n) for n in range(20)]
    assert len({mutant(random.Random(n)) for n in range(50)}) > 45  # noqa: S311


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (Finding("E201", "eval-fork", "review", 1, 1, 1, "This rule could not be applied (KeyError).\nWait."), "crash"),
        (Finding("G013", "audit-crashed", "reject", 1, 1, 1, "It ended.\nWait."), "crash"),
        (Finding("E201", "eval-fork", "review", 9, 1, 9, "There is something.\nDo another."), "place"),
        (Finding("E201", "eval-fork", "review", 1, 1, 1, "There is something."), "words"),
        (Finding("E201", "eval-fork", "review", 1, 1, 1, "\nDo another."), "words"),
    ],
)
def test_what_is_wrong_with_a_report_is_said(finding: Finding, said: str) -> None:
    report = Report.of(script_sha256="0" * 64, findings=[finding])
    assert (wrong_with(report, case(b"x = 1\n")) or "").startswith(said)
    good = Finding("E201", "eval-fork", "review", 1, 1, 1, "There is something.\nDo another.")
    assert wrong_with(Report.of(script_sha256="0" * 64, findings=[good]), case(b"x = 1\n")) is None
