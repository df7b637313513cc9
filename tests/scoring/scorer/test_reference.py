"""Reference losses: what they are bound to, and who can read them."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from scoring.scorer import reference
from scoring.scorer.reference import Binding
from scoring.scorer.score import score
from scoring.shards import ShardError
from tests.scoring.scorer.twice import HONEST, key_of, probed
from tests.scoring.tiny import LENGTH, Tiny, model_server

KEY = b"k" * 32
BINDING = Binding("tiny", "public", "a" * 64, 5, 4, "c" * 64)
NATS = torch.rand(5, 4, dtype=torch.float64)


def reference_of(tiny: Tiny, folder: Path, text: str, **job: Any) -> Path:
    """Score `text` on the tiny target and keep its losses."""
    path = folder / "reference"
    out = os.open(path, os.O_RDWR | os.O_CREAT)
    with model_server(folder, text) as (sock, _):
        score(tiny.job(sock.detach(), reference_fd=out, **job), on_ready=lambda: None, on_scored=lambda: None)
    return path


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_losses_come_back_as_they_were(tmp_path: Path) -> None:
    path = written(tmp_path / "r", reference.seal(KEY, BINDING, NATS))
    found = reference.unseal(path, KEY, replace(BINDING, checkpoint="d" * 64))  # whoever asks has another checkpoint
    assert torch.equal(found, NATS.to(torch.float32).double())


@pytest.mark.parametrize(
    "change",
    [{"set": "other"}, {"target": "private"}, {"commitment": "b" * 64}, {"rows": 4}, {"seq_len": 5}],
    ids=lambda change: next(iter(change)),
)
def test_losses_of_anything_else_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = written(tmp_path / "r", reference.seal(KEY, replace(BINDING, **change), NATS))
    with pytest.raises(ShardError, match=f"another {next(iter(change))}"):
        reference.unseal(path, KEY, BINDING)


def test_every_changed_bit_is_noticed(tmp_path: Path) -> None:
    data = reference.seal(KEY, BINDING, NATS)
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(ShardError):
            reference.unseal(written(tmp_path / "r", bytes(changed)), KEY, BINDING)
    with pytest.raises(ShardError):
        reference.unseal(written(tmp_path / "r", data), b"x" * 32, BINDING)
    with pytest.raises(ShardError):
        reference.unseal(written(tmp_path / "r", b""), KEY, BINDING)


def test_nats_cannot_be_read_without_the_key() -> None:
    assert NATS.numpy().astype("<f4").tobytes()[:16] not in reference.seal(KEY, BINDING, NATS)
    assert reference.seal(KEY, BINDING, NATS) != reference.seal(KEY, BINDING, NATS)


def test_a_sealed_target_is_no_reference(tiny: Tiny) -> None:
    with pytest.raises(ShardError, match="no reference"):
        reference.unseal(tiny.home / "sealed/tiny/public.shard", key_of(tiny), BINDING)


def test_scoring_makes_a_reference_of_this_shard_and_refuses_it_for_another_cut(tiny: Tiny, tmp_path: Path) -> None:
    path = reference_of(tiny, tmp_path, HONEST)
    assert asdict(BINDING).keys() == {"set", "target", "commitment", "rows", "seq_len", "checkpoint"}
    assert probed(tiny, tmp_path, HONEST, reference=str(path)).breaches == []
    with pytest.raises(ShardError, match="another rows"):
        probed(tiny, tmp_path, HONEST, {"seq_len": LENGTH // 2}, reference=str(path))
