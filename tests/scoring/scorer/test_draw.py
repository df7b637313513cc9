"""Where strict positions fall."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorer.draw import EVEN, Draw, Places, draw, draw_count, places

R, T = 10, 6


def gaining(gain: torch.Tensor) -> Places:
    """Places of a shard, all of them scored, where so much is gained."""
    return places(torch.zeros(R, T), torch.ones(R, T, dtype=torch.int64), gain.expand(R, T))


def drawn(where: Places, count: int, seed: int = 1) -> list[Draw]:
    return draw(where, count, Random(seed))  # noqa: S311 repeatable


EVENLY = gaining(torch.zeros(R, T))


@given(st.integers(0, 60), st.integers(0, 2**32), st.lists(st.integers(0, R * T - 1), max_size=40))
def test_only_scored_positions_with_something_after_them_are_drawn(count: int, seed: int, unscored: list[int]) -> None:
    sizes = torch.ones(R * T, dtype=torch.int64)
    sizes[unscored] = 0
    sizes = sizes.view(R, T)
    draws = drawn(places(torch.rand(R, T), sizes, torch.rand(R, T)), count, seed)
    assert len(draws) == (count if bool((sizes[:, :-1] > 0).any()) else 0)
    assert all(one.cut < T - 1 and sizes[one.row, one.cut] > 0 and one.expected > 0 for one in draws)


@given(st.integers(R, 5 * R), st.integers(0, 2**32))
def test_where_draws_suffice_every_row_gets_its_equal_share(count: int, seed: int) -> None:
    times = Counter(one.row for one in drawn(gaining(torch.rand(R, 1)), count, seed))
    assert min(times.values()) >= count // R
    assert len(times) == R


def test_what_is_left_over_goes_evenly_by_half_and_by_half_to_where_there_is_gain() -> None:
    gain = torch.zeros(R, T)
    gain[3] = 5.0
    times = Counter(one.row for seed in range(500) for one in drawn(gaining(gain), 2 * R - 1, seed))
    assert times[3] / 500 == pytest.approx(1 + (R - 1) * (EVEN / R + 1 - EVEN), abs=0.1)
    assert times[4] / 500 == pytest.approx(1 + (R - 1) * EVEN / R, abs=0.1)


@pytest.mark.parametrize("count", [4, 10, 25])
def test_a_position_is_drawn_as_often_as_its_draw_says(count: int) -> None:
    where = gaining(torch.arange(0.0, R * T).view(R, T))
    times: Counter[tuple[int, int]] = Counter()
    expected: dict[tuple[int, int], list[float]] = {}
    for seed in range(3000):
        for one in drawn(where, count, seed):
            times[one.row, one.cut] += 1
            expected.setdefault((one.row, one.cut), []).append(1 / one.expected)
    for place, number in times.items():  # every draw stands for 1 / expected positions: over all seeds for one of each
        assert sum(expected[place]) / 3000 == pytest.approx(1, abs=6 / number**0.5)


def test_a_reference_moves_draws_to_where_it_is_beaten() -> None:
    scored, sizes = torch.full((R, T), 3.0), torch.ones(R, T, dtype=torch.int64)
    scored[:, 2] = 0.1
    losses = torch.full((R, T), 3.0)
    cuts = Counter(one.cut for seed in range(1000) for one in drawn(places(scored, sizes, losses), R, seed))
    assert cuts[2] / cuts.total() == pytest.approx(1 - EVEN + EVEN / (T - 1), abs=0.02)


@pytest.mark.parametrize("count", [R // 2, R, 3 * R])
def test_where_no_gain_shows_a_model_is_asked_half_as_often_as_evenly_at_least(count: int) -> None:
    """A model that looks ahead at place 1 alone, where it would do badly, and honestly beats the baseline elsewhere."""
    gain = torch.full((R, T), 5.0)
    gain[:, 1] = 0.0
    cuts = Counter(one.cut for seed in range(2000) for one in drawn(gaining(gain), count, seed))
    assert cuts[1] / cuts.total() == pytest.approx(EVEN / (T - 1), abs=0.01)


def test_where_a_model_is_nowhere_better_than_the_reference_it_is_asked_evenly() -> None:
    worse = places(torch.full((R, T), 9.0), torch.ones(R, T, dtype=torch.int64), torch.ones(R, T))
    for row in (None, 4):
        assert worse.mixture(row) == EVENLY.mixture(row)
    assert worse.mixture(4) == [1 / (T - 1)] * (T - 1) + [0.0]


def test_two_draws_differ() -> None:
    assert drawn(EVENLY, 30, 1) != drawn(EVENLY, 30, 2)


@pytest.mark.parametrize(
    ("per_row", "power", "rows", "count"),
    [(1, 1, 246, 246), (0.05, 1, 246, 13), (0.1, 10, 246, 246), (0, 10, 9, 0), (1e-6, 1, 9, 1)],
)
def test_power_multiplies_and_a_share_is_rounded_up(per_row: float, power: int, rows: int, count: int) -> None:
    assert draw_count(per_row, power, rows) == count
