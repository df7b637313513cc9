"""The kit scores with the platform's rows and arithmetic."""

from __future__ import annotations

import math
from types import ModuleType

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring import bpb, shards
from scoring.scorer.logits import NonFinite, position_nats
from scoring.scorer.target import Rows
from tests.scoring.tiny import BATCH, LENGTH, VOCAB, Tiny


class Mixed(torch.nn.Module):
    """Depends on this token and the last one; in bfloat16, as real models do."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(5)
        self.table = torch.randn(VOCAB, VOCAB, generator=draw)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return (self.table[tokens] + 0.3 * self.table[tokens.roll(1, 1)]).to(torch.bfloat16)


def evaluate(kit: ModuleType, batch_size: int = BATCH, seq_len: int = LENGTH, **options: object) -> dict[str, float]:
    result: dict[str, float] = kit.evaluate_bpb(
        Mixed(), kit.ensure_tokenizer(), batch_size, seq_len, "cpu", "dev", **options
    )
    return result


def test_the_kit_and_the_scorer_agree_to_a_billionth(kit: ModuleType, tiny: Tiny) -> None:
    tokens = torch.tensor(shards.unpack_tokens((tiny.open_dir / "dev.bin").read_bytes()))
    table = torch.tensor(shards.read_token_bytes(tiny.open_dir / "token_bytes.bin", VOCAB))
    rows = Rows(tokens, table, LENGTH, tiny.manifest["bos"])
    model, row_nats = Mixed(), []
    for inputs, targets, sizes in zip(rows.inputs, rows.targets, rows.bytes, strict=True):
        row_nats.append(position_nats(model(inputs[None])[0], targets)[sizes > 0].sum().item())
    theirs = evaluate(kit)
    assert theirs["total_nats"] == pytest.approx(bpb.total_nats(row_nats), rel=1e-9)
    assert (theirs["num_bytes"], theirs["num_tokens"]) == (int(rows.bytes.sum()), int((rows.bytes > 0).sum()))
    assert theirs["val_bpb"] == pytest.approx(bpb.bits_per_byte(theirs["total_nats"], theirs["num_bytes"]), rel=1e-12)
    assert theirs["num_bytes"] == tiny.manifest["dev"]["bytes"]


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_what_is_scored_does_not_depend_on_the_batch_size(kit: ModuleType, batch_size: int) -> None:
    counted = ("total_nats", "num_bytes", "num_tokens")
    assert [evaluate(kit, batch_size)[key] for key in counted] == [evaluate(kit)[key] for key in counted]


@pytest.mark.parametrize("seq_len", [1, 17, 100_000])
def test_the_last_row_is_counted_though_it_is_short(kit: ModuleType, tiny: Tiny, seq_len: int) -> None:
    result = evaluate(kit, seq_len=seq_len, batch_size=64) if seq_len < 1000 else evaluate(kit, 1, 4999)
    assert result["num_bytes"] == tiny.manifest["dev"]["bytes"]
    assert result["num_tokens"] == tiny.manifest["dev"]["tokens"] - tiny.manifest["dev"]["documents"]


def test_world_size_changes_nothing(kit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = evaluate(kit)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert evaluate(kit)["total_nats"] == alone["total_nats"]


def test_part_of_the_shard_can_be_asked_for(kit: ModuleType) -> None:
    assert evaluate(kit, max_tokens=100)["num_tokens"] <= 100
    assert evaluate(kit, max_tokens=100)["num_bytes"] < evaluate(kit)["num_bytes"]


def test_going_over_the_timeout_is_said(kit: ModuleType) -> None:
    assert evaluate(kit, timeout_seconds=0.0)["eval_over_timeout"] is True
    assert evaluate(kit)["eval_over_timeout"] is False


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-60, 60, width=32), min_size=6, max_size=6), st.integers(0, 5))
def test_nats_are_the_same_on_any_logits(kit: ModuleType, row: list[float], target: int) -> None:
    ours = position_nats(torch.tensor([row]), torch.tensor([target])).item()
    theirs = kit._nats(torch.tensor([[row]]), torch.tensor([[target]])).item()
    assert theirs == pytest.approx(ours, abs=1e-9)
    top = max(row)
    by_hand = top + math.log(math.fsum(math.exp(value - top) for value in row)) - row[target]
    assert theirs == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_both_refuse_a_logit_that_is_not_finite(kit: ModuleType, bad: float) -> None:
    logits = torch.tensor([[0.0, bad, 1.0]])
    with pytest.raises(NonFinite):
        position_nats(logits, torch.tensor([0]))
    with pytest.raises(ValueError, match="not finite"):
        kit._nats(logits[None], torch.tensor([[0]]))


def test_a_causal_model_passes_the_check(kit: ModuleType) -> None:
    class Running(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.one_hot(tokens, VOCAB).float().cumsum(1)

    assert kit.causality_check(Running(), None, BATCH, LENGTH, "cpu") == {"passed": True, "max_abs_diff": 0.0}


@pytest.mark.parametrize("peek", ["next", "mean", "neighbour"])
def test_a_model_that_looks_elsewhere_does_not(kit: ModuleType, peek: str) -> None:
    class Peeking(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            x = torch.nn.functional.one_hot(tokens, VOCAB).float()
            return {"next": x.roll(-1, 1), "mean": x.mean(1, keepdim=True).expand_as(x), "neighbour": x.roll(1, 0)}[
                peek
            ]

    assert kit.causality_check(Peeking(), None, BATCH, LENGTH, "cpu")["passed"] is False


def test_the_models_mode_is_left_as_it_was(kit: ModuleType) -> None:
    model = Mixed().train()
    kit.evaluate_bpb(model, kit.ensure_tokenizer(), BATCH, LENGTH, "cpu", "dev", max_tokens=50)
    kit.causality_check(model, kit.ensure_tokenizer(), BATCH, LENGTH, "cpu")
    assert model.training


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("offset", [1e3, 1e8, 1e17])
def test_an_even_guess_costs_its_logarithm_however_large_the_logits(
    kit: ModuleType, offset: float, dtype: torch.dtype
) -> None:
    class Even(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.full((*tokens.shape, VOCAB), offset, dtype=dtype)

    result = kit.evaluate_bpb(Even(), kit.ensure_tokenizer(), BATCH, LENGTH, "cpu", "dev")
    assert result["total_nats"] == pytest.approx(result["num_tokens"] * math.log(VOCAB), rel=1e-12)
