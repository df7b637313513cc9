"""What the loader gives, and when."""

from __future__ import annotations

import shutil
import threading
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.scoring.kit.conftest import Load
from tests.scoring.tiny import LENGTH

Batch = tuple[torch.Tensor, torch.Tensor, dict[str, int]]


def batches(kit: ModuleType, count: int, split: str = "train", batch_size: int = 4) -> list[Batch]:
    return list(islice(kit.make_dataloader(kit.ensure_tokenizer(), batch_size, LENGTH, split, "cpu"), count))


def data(kit: ModuleType) -> Path:
    folder: Path = kit._path("data_dir")
    return folder


def test_a_batch_has_the_promised_shapes_and_types(kit: ModuleType) -> None:
    inputs, targets, info = batches(kit, 1)[0]
    assert (inputs.shape, inputs.dtype) == ((4, LENGTH), torch.int32)
    assert (targets.shape, targets.dtype) == ((4, LENGTH), torch.int64)
    assert torch.equal(inputs[:, 1:].long(), targets[:, :-1])
    assert info == {"epoch": 0}


def test_rows_follow_one_another_through_the_files(kit: ModuleType) -> None:
    stream = kit._read_tokens(data(kit) / "000.bin")
    inputs = torch.cat([inputs.reshape(-1) for inputs, _, _ in batches(kit, 5)])
    assert torch.equal(inputs, stream[: len(inputs)])


def test_while_the_gate_is_closed_it_goes_round_the_first_file(load_kit: Load, tmp_path: Path) -> None:
    kit = load_kit()
    for path in data(kit).iterdir():
        if path.name != "000.bin":
            shutil.move(path, tmp_path / path.name)
    loader = kit.make_dataloader(kit.ensure_tokenizer(), 4, LENGTH, "train", "cpu")
    per_epoch = (2_000 - 1) // LENGTH  # rows in the first file
    given = [next(loader) for _ in range(per_epoch // 2)]
    assert [info["epoch"] for _, _, info in given][::10] == [0, 0, 1, 1]
    first = given[0][0]
    shutil.move(tmp_path / "001.bin", data(kit) / "001.bin")  # the gate opens
    second_file = kit._read_tokens(data(kit) / "001.bin")
    seen = torch.cat([next(loader)[0] for _ in range(per_epoch // 2)])
    assert not torch.equal(seen[0], first[0])
    assert (seen == second_file[:LENGTH]).all(dim=1).any()


def test_when_all_is_read_a_new_epoch_begins(kit: ModuleType) -> None:
    rows = sum((len(kit._read_tokens(path)) - 1) // LENGTH for path in data(kit).iterdir())
    given = batches(kit, rows // 4 + 1)
    assert [given[0][2]["epoch"], given[-1][2]["epoch"]] == [0, 1]


def test_ranks_share_the_rows_without_repeats(kit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = torch.cat([inputs for inputs, _, _ in batches(kit, 3, batch_size=6)])
    monkeypatch.setenv("WORLD_SIZE", "2")
    parts = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        parts.append(torch.cat([inputs for inputs, _, _ in batches(kit, 3, batch_size=3)]))
    assert torch.equal(torch.stack(parts, dim=1).flatten(0, 1), alone)


def test_before_the_clock_starts_there_is_no_dev_shard_and_that_is_said(
    kit: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit._path("dev_file").unlink()
    monkeypatch.setattr(kit, "_DEV_SECONDS", 0.05)
    with pytest.raises(FileNotFoundError, match="appears with step boundary number 2"):
        batches(kit, 1, "dev")


def test_right_after_the_last_excluded_step_the_dev_shard_is_waited_for(kit: ModuleType, tmp_path: Path) -> None:
    path = kit._path("dev_file")
    away = path.rename(tmp_path / "held.bin")
    gate = threading.Timer(0.1, away.rename, [path])
    gate.start()
    assert len(batches(kit, 1, "dev")) == 1
    gate.join()


def test_dev_is_also_called_val(kit: ModuleType) -> None:
    assert torch.equal(batches(kit, 1, "dev")[0][0], batches(kit, 1, "val")[0][0])
    with pytest.raises(ValueError, match="private"):
        batches(kit, 1, "private")


def test_a_file_too_short_for_one_row_is_an_error_and_not_a_hang(kit: ModuleType) -> None:
    with pytest.raises(ValueError, match="no dev file holds"):
        next(kit.make_dataloader(kit.ensure_tokenizer(), 1, 10**6, "dev", "cpu"))
