"""From logits to nats, against a computation by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.scorer import logits as module
from scoring.scorer.logits import NonFinite, position_nats


def by_hand(row: list[float], target: int) -> float:
    top = max(row)
    return top + math.log(math.fsum(math.exp(value - top) for value in row)) - row[target]


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-300, 300), min_size=5, max_size=5), min_size=1, max_size=8), st.integers(0, 4))
def test_nats_are_minus_the_log_of_the_softmax(rows: list[list[float]], target: int) -> None:
    nats = position_nats(torch.tensor(rows, dtype=torch.float64), torch.full((len(rows),), target))
    for value, row in zip(nats.tolist(), rows, strict=True):
        assert value == pytest.approx(by_hand(row, target), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_type_is_widened_before_it_is_normalised(dtype: torch.dtype) -> None:
    logits = torch.linspace(-7, 9, 60).view(3, 20).to(dtype)
    targets = torch.tensor([0, 7, 19])
    nats = position_nats(logits, targets)
    assert nats.dtype == torch.float64
    for value, row, target in zip(nats.tolist(), logits.double().tolist(), targets.tolist(), strict=True):
        assert value == pytest.approx(by_hand(row, target), abs=1e-12)


@given(shift=st.floats(-1e4, 1e4))
@settings(deadline=None)
def test_adding_a_constant_to_all_logits_changes_nothing(shift: float) -> None:
    logits = torch.linspace(-3, 3, 12, dtype=torch.float64).view(2, 6)
    targets = torch.tensor([1, 4])
    assert torch.allclose(position_nats(logits + shift, targets), position_nats(logits, targets), atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("offset", [1e3, 1e8, 1e17, -1e17])
def test_an_even_guess_costs_its_logarithm_however_large_the_logits(offset: float, dtype: torch.dtype) -> None:
    nats = position_nats(torch.full((3, 1024), offset, dtype=dtype), torch.tensor([0, 7, 1023]))
    assert nats.tolist() == pytest.approx([math.log(1024)] * 3, rel=1e-15)


SIZES = {torch.float64: 8e307, torch.float32: 3e38, torch.float16: 6e4, torch.bfloat16: 3e38}


@settings(deadline=None)
@given(st.data(), st.sampled_from(list(SIZES)))
def test_losses_are_those_of_a_distribution_whatever_the_logits(data: st.DataObject, dtype: torch.dtype) -> None:
    """Huge, tiny, all alike or far apart: over the vocabulary, exp(-loss) adds up to one."""
    offset = data.draw(st.sampled_from([0.0, 1e3, 1e8, 1e17]) if SIZES[dtype] > 1e17 else st.just(0.0))
    near = st.floats(-40, 40).map(lambda value: offset + value)
    row = data.draw(st.lists(near | st.floats(-SIZES[dtype], SIZES[dtype]), min_size=2, max_size=40))
    logits = torch.tensor(row, dtype=torch.float64).to(dtype).expand(len(row), -1)
    nats = position_nats(logits, torch.arange(len(row)))
    assert math.fsum(torch.exp(-nats).tolist()) == pytest.approx(1.0, abs=1e-12)


def test_pieces_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, targets = torch.randn(50, 9, generator=torch.Generator().manual_seed(1)), torch.arange(50) % 9
    whole = position_nats(logits, targets)
    monkeypatch.setattr(module, "PIECE_BYTES", 7 * 8 * 9)
    assert torch.equal(position_nats(logits, targets), whole)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_one_logit_that_is_not_finite_spoils_the_block(bad: float, dtype: torch.dtype) -> None:
    logits = torch.zeros(40, 30, dtype=dtype)
    logits[39, 29] = bad
    with pytest.raises(NonFinite):
        position_nats(logits, torch.zeros(40, dtype=torch.int64))


def test_finite_logits_whose_loss_overflows_are_refused() -> None:
    logits = torch.tensor([[1.7e308, -1.7e308]], dtype=torch.float64)
    with pytest.raises(NonFinite):
        position_nats(logits, torch.tensor([1]))
