"""Bits per byte from nats and bytes."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import bpb


def test_a_uniform_guess_over_256_bytes_costs_eight_bits_each() -> None:
    assert bpb.bits_per_byte(1000 * math.log(256), 1000) == pytest.approx(8.0, abs=1e-12)


def test_half_as_many_bytes_cost_twice_as_much() -> None:
    assert bpb.bits_per_byte(700.0, 500) == pytest.approx(2 * bpb.bits_per_byte(700.0, 1000))


@pytest.mark.parametrize("nats", [math.nan, math.inf, -math.inf, -1.0, 0.0, -0.0, 1e6])
def test_nats_that_no_model_can_have_are_no_score(nats: float) -> None:
    with pytest.raises(bpb.BadMetric):
        bpb.bits_per_byte(nats, 1000)


@pytest.mark.parametrize("size", [0, -5, True, 3.5])
def test_bytes_that_cannot_be_counted_are_no_score(size: int) -> None:
    with pytest.raises(bpb.BadMetric):
        bpb.bits_per_byte(100.0, size)


def test_sixty_four_bits_are_the_last_that_count() -> None:
    assert bpb.bits_per_byte(64 * math.log(2), 1) == 64.0
    with pytest.raises(bpb.BadMetric):
        bpb.bits_per_byte(64.01 * math.log(2), 1)


@given(st.lists(st.floats(min_value=0, max_value=1e12, allow_nan=False), max_size=60), st.randoms())
def test_the_sum_of_rows_is_exact_and_does_not_depend_on_their_order(rows: list[float], random: Random) -> None:
    total = bpb.total_nats(rows)
    random.shuffle(rows)
    assert bpb.total_nats(rows) == total == float(sum(map(Fraction, rows), Fraction()))


def test_a_score_says_all_its_totals() -> None:
    score = bpb.Score(total_nats=80.0, num_bytes=50, num_tokens=20, rows=3, seconds=0.5)
    assert score.to_json()["bpb"] == pytest.approx(80 / 50 / math.log(2))
    assert set(score.to_json()) == {"total_nats", "num_bytes", "num_tokens", "bpb", "rows", "seconds"}


def test_the_platform_can_compute_without_torch() -> None:
    code = "import sys, scoring.bpb, scoring.shards; sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
