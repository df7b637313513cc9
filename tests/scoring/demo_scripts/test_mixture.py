"""ngram.py's model is a causal function of each row alone, and its logits are probabilities."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.scoring.demo_scripts.conftest import Import
from tests.scoring.demo_scripts.test_memory import stream
from tests.scoring.tiny import VOCAB

LENGTH = 48


@pytest.fixture
def ngram(script: Import) -> ModuleType:
    return script("ngram.py")


@pytest.fixture
def model(ngram: ModuleType) -> torch.nn.Module:
    torch.manual_seed(3)
    model: torch.nn.Module = ngram.Mixture()
    model.memory.fill(np.array(stream(3000, 9, seed=1)))
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(std=0.5)  # outputs start at zero, which would hide everything
        model.gates.normal_(std=3.0)
    return model.eval()


def rows(count: int, seed: int = 10) -> torch.Tensor:
    return torch.tensor([stream(LENGTH, 9, seed=seed + row) for row in range(count)])


@torch.inference_mode()
def test_what_follows_changes_nothing_not_even_a_bit(model: torch.nn.Module) -> None:
    asked = rows(6)
    answers = model(asked)
    for cut in (0, 1, 7, 23, LENGTH - 2):
        changed = torch.cat([asked[:, : cut + 1], rows(6, seed=50)[:, cut + 1 :]], 1)
        assert torch.equal(model(changed)[:, : cut + 1], answers[:, : cut + 1])
        assert not torch.equal(model(changed)[:, cut + 1 :], answers[:, cut + 1 :])


@torch.inference_mode()
def test_neighbours_and_slots_change_nothing_not_even_a_bit(model: torch.nn.Module) -> None:
    asked = rows(6)
    answers = model(asked)
    assert torch.equal(model(asked.flip(0)).flip(0), answers)
    others = rows(6, seed=50)
    others[4] = asked[1]
    assert torch.equal(model(others)[4], answers[1])
    assert torch.equal(model(asked), answers), "nothing is remembered from one question to the next"


@torch.inference_mode()
def test_probabilities_sum_to_one(model: torch.nn.Module) -> None:
    logits = model(rows(4))
    assert logits.shape == (4, LENGTH, VOCAB)
    assert torch.isfinite(logits).all()
    assert logits.double().logsumexp(-1).abs().max() < 1e-5


@torch.inference_mode()
def test_gates_at_their_ends_leave_every_logit_finite(model: torch.nn.Module) -> None:
    for gate in (-1e4, 1e4):
        model.gates.fill_(gate)
        assert torch.isfinite(model(rows(2))).all()


@torch.inference_mode()
def test_where_the_memory_knows_nothing_the_network_speaks(ngram: ModuleType, model: torch.nn.Module) -> None:
    new = torch.full((1, LENGTH), 200)  # a token that its text does not have
    own = torch.log_softmax(model.network(new), -1)
    assert torch.equal(model(new), own)
    assert not torch.equal(model(rows(1)), torch.log_softmax(model.network(rows(1)), -1))


@torch.inference_mode()
def test_a_checkpoint_loads_as_the_same_model(ngram: ModuleType, model: torch.nn.Module, folder: Path) -> None:
    ngram.save(model)
    loaded = ngram.load_for_eval("out/final.pt", torch.device("cpu"))
    assert torch.equal(loaded(rows(3)), model(rows(3)))
    assert not loaded.training
