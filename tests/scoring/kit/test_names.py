"""Constants, tokenizer and step boundaries."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.scoring.kit.conftest import Load
from tests.scoring.tiny import VOCAB


def test_constants_come_from_the_file_beside_it_and_not_from_the_environment(
    load_kit: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAIN_TIME_BUDGET_SECONDS", "9999")
    kit = load_kit(budget_seconds=7.0, seed=123)
    assert (kit.TRAIN_TIME_BUDGET_SECONDS, kit.SEED) == (7.0, 123)
    assert (kit.TRAIN_STARTUP_STEPS_EXCLUDED, kit.TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS) == (2, 30.0)
    assert (kit.EVAL_TIMEOUT_SECONDS, kit.TOKENIZER_VOCAB_SIZE) == (60.0, VOCAB)


def test_it_offers_every_public_name(kit: ModuleType) -> None:
    names = """TOKENIZER_VOCAB_SIZE TRAIN_TIME_BUDGET_SECONDS TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS
        TRAIN_STARTUP_STEPS_EXCLUDED EVAL_TIMEOUT_SECONDS Tokenizer ensure_tokenizer get_token_bytes get_dist_info
        print0 make_dataloader record_step_boundary evaluate_bpb causality_check"""
    assert [name for name in names.split() if not hasattr(kit, name)] == []


def test_text_comes_back_through_the_tokenizer(kit: ModuleType) -> None:
    tokenizer = kit.ensure_tokenizer()
    bos = tokenizer.get_bos_token_id()
    texts = ["one two", "", "<|bos|> is text\n\n  ü"]
    ids = tokenizer.encode(texts, prepend=bos)
    assert [row[0] for row in ids] == [bos] * 3
    assert [tokenizer.decode(row) for row in ids] == texts
    assert tokenizer.encode("one two") == ids[0][1:]
    assert tokenizer.get_vocab_size() == VOCAB
    table = kit.get_token_bytes("cpu")
    assert [int(table[torch.tensor(row)].sum()) for row in ids] == [len(text.encode()) for text in texts]


def test_without_a_launcher_there_is_one_process(kit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kit.get_dist_info() == (False, 0, 0, 1)
    for name, value in (("RANK", "3"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    assert kit.get_dist_info() == (True, 3, 1, 4)


def test_only_rank_0_prints(
    kit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kit.print0("first")
    monkeypatch.setenv("RANK", "1")
    kit.print0("second")
    assert capsys.readouterr().out == "first\n"


def test_a_boundary_is_one_line_of_at_most_32_bytes(kit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = kit._path("steps_fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    kit.record_step_boundary(1)
    kit.record_step_boundary(10**18)
    monkeypatch.setenv("RANK", "1")
    kit.record_step_boundary(3)
    lines = os.read(reader, 4096).splitlines(keepends=True)
    os.close(reader)
    assert lines == [b"1\n", b"1000000000000000000\n"]
    assert max(map(len, lines)) <= 32


def test_a_boundary_without_a_listener_is_nothing(kit: ModuleType) -> None:
    kit.record_step_boundary(1)  # no FIFO at all
    os.mkfifo(kit._path("steps_fifo"))
    kit.record_step_boundary(2)  # nobody reads it
    reader = os.open(kit._path("steps_fifo"), os.O_RDONLY | os.O_NONBLOCK)
    kit.record_step_boundary(3)
    assert os.read(reader, 64) == b"3\n"
    os.close(reader)


def test_a_full_pipe_never_blocks_training(kit: ModuleType) -> None:
    os.mkfifo(kit._path("steps_fifo"))
    reader = os.open(kit._path("steps_fifo"), os.O_RDONLY | os.O_NONBLOCK)
    for step in range(40_000):
        kit.record_step_boundary(step)
    assert len(os.read(reader, 1 << 20)) > 60_000, "the pipe was full"
    os.close(reader)


def test_a_kit_without_constants_says_so(load_kit: Load, tmp_path: Path) -> None:
    (tmp_path / "kit").mkdir()
    kit = load_kit()
    (Path(kit.__file__ or "") / "../constants.json").resolve().unlink()
    with pytest.raises(FileNotFoundError, match="download the kit again"):
        kit._read_constants()
