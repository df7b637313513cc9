"""When a run fails for what its probes say, and what its team is told."""

from __future__ import annotations

import json

import pytest
import torch

from scoring.scorer.draw import Draw
from scoring.scorer.probe import Seen
from scoring.scorer.questions import Question
from scoring.scorer.tolerance import tolerance
from scoring.scorer.verdict import MOST_EVIDENCE, Verdict, judge


def judged(strict: int, breached: int, *, drift: float = 0.0, repeats: int = 0, positions: int = 0) -> Verdict:
    """Judge strict questions of which `breached` differ by a nat, all by `drift`, and repeats of 100 positions each."""
    draws = [Draw(row, 3, 0.5, row, 1) for row in range(strict)]
    seen = [
        Seen(
            Question(n, 3, n), 1e-5, 4, int(n < breached), float(n < breached), 3, (n < breached) + drift * (1 + n % 3)
        )
        for n in range(strict)
    ]
    seen += [Seen(Question(n), 1e-5, 100, positions // repeats, 0.5 if positions else 0.0, 7) for n in range(repeats)]
    return judge(seen, draws, 1000)


@pytest.mark.parametrize(("breached", "said"), [(0, []), (2, []), (3, ["strict positions: at least 2 of 2000 differ"])])
def test_more_than_one_strict_position_in_a_thousand_may_not_differ(breached: int, said: list[str]) -> None:
    assert judged(2000, breached).breaches == said


@pytest.mark.parametrize(
    ("positions", "said"), [(0, []), (20, []), (40, ["repeats: at least 32 of 20000 positions differ"])]
)
def test_nor_one_position_of_repeats_in_a_thousand(positions: int, said: list[str]) -> None:
    seen = [Seen(Question(row), 1e-5, 1000, positions // 20, 0.5, 7) for row in range(20)]
    assert judge(seen, [], 1000).breaches == said


@pytest.mark.parametrize(
    ("rows", "ends", "said"),
    [
        (24, 0, []),
        (24, 1, []),  # one in so few may be an accelerator's rounding
        (24, 2, ["repeats: at least 2 of 24 rows end otherwise"]),
        (24, 24, ["repeats: all 24 rows end otherwise"]),
        (1000, 10, []),
        (1000, 11, ["repeats: at least 8 of 1000 rows end otherwise"]),
    ],
)
def test_nor_one_end_of_a_repeated_row_in_a_hundred(rows: int, ends: int, said: list[str]) -> None:
    seen = [Seen(Question(row), 1e-5, 4096, int(row < ends), 0.5, 4095, end_beyond=row < ends) for row in range(rows)]
    assert judge(seen, [], 1000).breaches == said


@pytest.mark.parametrize("drift", [1e-9, -1e-9])
def test_a_small_difference_that_always_leans_one_way_is_found(drift: float) -> None:
    assert judged(500, 0, drift=drift).breaches == ["strict positions: 500 differ on average"]


def test_both_kinds_are_named() -> None:
    assert judged(10, 10, repeats=1, positions=100).breaches == [
        "strict positions: all 10 differ",
        "repeats: all 100 positions differ",
    ]


def test_a_team_reads_no_exact_count_but_that_of_all() -> None:
    """A model steers how many places differ, and knows sealed text by then: 253 places would tell it a byte of that."""
    told = [judged(253, breached).breaches[0] for breached in range(1, 254)]
    assert set(told[:-1]) == {f"strict positions: at least {2**power} of 253 differ" for power in range(8)}
    assert (told[62], told[63]) == (
        "strict positions: at least 32 of 253 differ",
        "strict positions: at least 64 of 253 differ",
    )
    assert told[-1] == "strict positions: all 253 differ"
    assert judged(253, 77).strict["breached"] == 77  # for organizers


def test_evidence_is_the_worst_and_never_more_than_a_hundred() -> None:
    verdict = judged(300, 200, repeats=1, positions=100)
    assert len(verdict.evidence) == MOST_EVIDENCE
    assert verdict.evidence[0] == {"kind": "strict", "row": 0, "position": 3, "difference": 1.0}
    assert [one["kind"] for one in judged(10, 2, repeats=1, positions=100).evidence] == ["strict", "strict", "repeat"]


def test_nothing_asked_is_a_table_of_zeros() -> None:
    verdict = judge([], [], 1000)
    assert verdict.strict == verdict.repeat == {"asked": 0, "breached": 0, "compared": 0, "largest": 0.0}
    assert (verdict.breaches, verdict.mean_p, verdict.correction, verdict.correction_se) == ([], None, 0.0, 0.0)


def test_whatever_a_model_answers_the_table_is_json() -> None:
    record = Seen(Question(0, 3, 0))
    record.note(0, torch.tensor([0.0, float("inf")]), torch.tensor([1e-5, float("inf")]))
    record.difference = record.worst
    verdict = judge([record] * 10, [Draw(0, 3, 1e-9, -1, 10)], 1)
    table = [verdict.strict, verdict.evidence, verdict.correction, verdict.correction_se]
    assert json.loads(json.dumps(table, allow_nan=False)) == table


@pytest.mark.parametrize(
    ("device", "dtype", "size", "expected"),
    [
        ("cpu", torch.bfloat16, 12.0, 1e-5),
        ("cuda", torch.float32, 12.0, 0.02),
        ("cuda", torch.bfloat16, 12.0, 0.125),
        ("cuda", torch.bfloat16, 0.9, 0.02),
        ("cuda", torch.bfloat16, 16.0, 0.25),
        ("cuda", torch.float16, 12.0, 0.02),
        ("cuda", torch.bfloat16, 0.0, 0.02),
    ],
)
def test_accelerators_are_allowed_two_steps_of_their_type(
    device: str, dtype: torch.dtype, size: float, expected: float
) -> None:
    assert tolerance(device, dtype, torch.tensor([size, size], dtype=torch.float64)).tolist() == [expected] * 2
