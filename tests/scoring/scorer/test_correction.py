"""The correction against what it estimates, where the whole is known."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean, pvariance

import pytest
import torch
from scipy import stats

from scoring import bpb
from scoring.scorer.correction import FEWEST, correction, mean_p
from scoring.scorer.draw import Draw, draw, places

ROWS, LENGTH, SEEDS, BYTES = 12, 8, 4000, 1000
GENERATOR = torch.Generator().manual_seed(4)
SIZES = torch.ones(ROWS, LENGTH, dtype=torch.int64)
LOSSES = 4 * torch.rand(ROWS, LENGTH, generator=GENERATOR)
SCORED = 4 * torch.rand(ROWS, LENGTH, generator=GENERATOR)
# What a model gains that peeks at some places: much where the reference does badly, sometimes where it does well.
GAIN = torch.where(torch.rand(ROWS, LENGTH, generator=GENERATOR) < 0.3, LOSSES, 0.0)
GAIN[:, -1] = 0  # nothing of its row comes after


@pytest.mark.parametrize("reference", [None, LOSSES], ids=["even", "by reference"])
@pytest.mark.parametrize("count", [5, ROWS, ROWS + 7, 3 * ROWS])
def test_the_correction_is_right_on_average_and_its_error_is_not_too_small(
    count: int, reference: torch.Tensor | None
) -> None:
    where = places(SCORED, SIZES, reference)
    truth = float(GAIN.sum()) / (math.log(2) * BYTES)
    found, errors = [], []
    for seed in range(SEEDS):
        draws = draw(where, count, Random(seed))  # noqa: S311 repeatable
        value, error = correction(draws, [float(GAIN[one.row, one.cut]) for one in draws], BYTES)
        found.append(value)
        errors.append(error)
    variance = pvariance(found)
    assert fmean(found) == pytest.approx(truth, abs=4 * math.sqrt(variance / SEEDS))
    assert fmean(error**2 for error in errors) > 0.95 * variance


def test_a_model_that_does_not_look_ahead_is_corrected_by_nothing() -> None:
    draws = draw(places(SCORED, SIZES, LOSSES), 30, Random(1))  # noqa: S311
    assert correction(draws, [0.0] * 30, BYTES) == (0.0, 0.0)
    assert bpb.published(1.5, 0.0, 0.0) == 1.5
    assert correction([], [], BYTES) == (0.0, 0.0)


def test_noise_costs_its_maker() -> None:
    """Noise without any gain: published is worse than scored nineteen times in twenty, and never better."""
    draws = draw(places(SCORED, SIZES, None), 2 * ROWS, Random(1))  # noqa: S311
    random = Random(3)  # noqa: S311
    paid = []
    for _ in range(2000):
        value, error = correction(draws, [random.gauss(0, 0.1) for _ in draws], BYTES)
        paid.append(bpb.published(1.5, value, error) - 1.5)
    assert min(paid) >= 0
    assert sum(cost > 0 for cost in paid) / len(paid) == pytest.approx(0.95, abs=0.03)


def test_a_gain_hidden_in_noise_is_taken_back_and_the_noise_paid_for() -> None:
    draws = draw(places(SCORED, SIZES, None), 2 * ROWS, Random(1))  # noqa: S311
    random = Random(5)  # noqa: S311
    truth = float(GAIN.sum()) / (math.log(2) * BYTES)
    paid = []
    for seed in range(2000):
        draws = draw(places(SCORED, SIZES, None), 2 * ROWS, Random(seed))  # noqa: S311
        value, error = correction(draws, [float(GAIN[o.row, o.cut]) + random.gauss(0, 1) for o in draws], BYTES)
        paid.append(bpb.published(1.5, value, error) - 1.5)
    assert fmean(paid) > truth


def test_one_draw_alone_is_its_own_error() -> None:
    value, error = correction([Draw(0, 0, 0.25, -1, 1)], [2.0], BYTES)
    assert value == error == 8 / (math.log(2) * BYTES)


def test_rows_with_one_draw_each_share_their_spread() -> None:
    alone = [Draw(row, 0, 0.25, row, 1) for row in range(5)]
    assert correction(alone, [2.0] * 5, BYTES) == (40 / (math.log(2) * BYTES), 0.0)
    _, error = correction(alone, [2.0, 2.0, 2.0, 2.0, 4.0], BYTES)
    assert error == pytest.approx(8 / (math.log(2) * BYTES))


@pytest.mark.parametrize(("count", "shift"), [(FEWEST, 0.5), (30, 0.9), (250, 0.0), (250, 0.4), (4000, 0.09)])
def test_the_test_of_the_mean_is_students(count: int, shift: float) -> None:
    random = Random(count)  # noqa: S311
    values = [random.gauss(shift, 1) for _ in range(count)]
    assert math.log(mean_p(values) or 0) == pytest.approx(
        math.log(stats.ttest_1samp(values, 0).pvalue), rel=0.02, abs=0.02
    )


def test_the_mean_of_few_or_of_equals() -> None:
    assert mean_p([1.0] * (FEWEST - 1)) is None
    assert mean_p([0.0] * FEWEST) == 1.0
    assert mean_p([1e-9] * FEWEST) == 0.0


@pytest.mark.parametrize(("value", "error"), [(63.0, 0.0), (0.0, math.inf), (math.nan, 0.0)])
def test_a_published_number_is_a_score_or_nothing(value: float, error: float) -> None:
    with pytest.raises(bpb.BadMetric):
        bpb.published(1.5, value, error)
