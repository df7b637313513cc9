"""ngram.py reads all of the training text, though little of it is there at first, and fits its gates beside it."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from scoring import shards
from tests.scoring.demo_scripts.conftest import Import
from tests.scoring.tiny import Tiny


@pytest.fixture
def ngram(script: Import, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = script("ngram.py")
    monkeypatch.setattr(module, "GATE_ROWS", 8)
    monkeypatch.setattr(module, "BATCH", 2)
    return module


def training_text(tiny: Tiny, length: int) -> list[int]:
    """All tokens of all files that fill a row of the loader."""
    files = [tiny.open_dir / "train" / file["name"] for file in tiny.manifest["train"]["files"]]
    tokens = [shards.unpack_tokens(file.read_bytes()) for file in files]
    return list(itertools.chain(*(part[: (len(part) - 1) // length * length] for part in tokens)))


def test_the_memory_holds_the_text_but_for_the_rows_that_gates_are_fitted_on(ngram: ModuleType, tiny: Tiny) -> None:
    memory = ngram.Memory()
    inputs, targets, evidence = ngram.fill_memory(memory)
    remembered = memory.text[max(ngram.DEPTHS) :].tolist()
    kept_out = [*inputs.flatten().tolist(), targets[-1].item()]
    everything = training_text(tiny, ngram.LENGTH)
    assert (
        remembered + kept_out
        == everything[: len(everything) // ngram.BATCH * ngram.BATCH][: len(remembered + kept_out)]
    )
    assert len(everything) - len(remembered + kept_out) < ngram.BATCH * ngram.LENGTH
    assert torch.equal(targets[:-1, 0], inputs.flatten()[1:].long())
    assert len(evidence) == len(ngram.DEPTHS)
    for (followed, kind), (all_followed, all_kind) in zip(evidence, memory(inputs), strict=True):
        assert torch.equal(followed, all_followed.gather(1, targets))
        assert torch.equal(kind, all_kind)


def test_training_waits_for_files_that_appear_with_the_clock(
    ngram: ModuleType, tiny: Tiny, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [file["name"] for file in tiny.manifest["train"]["files"]]
    gate, held = folder / "shards/train", folder / "held"
    held.mkdir()
    for name in names[1:]:
        (gate / name).rename(held / name)

    def platform(step: int) -> None:
        if step == ngram.TRAIN_STARTUP_STEPS_EXCLUDED + 3:  # it hears of the step a moment later
            for name in names[1:]:
                (held / name).rename(gate / name)

    monkeypatch.setattr(ngram, "record_step_boundary", platform)
    ngram.main()
    model = ngram.load_for_eval("out/final.pt", torch.device("cpu"))
    remembered = len(model.memory.order) + ngram.GATE_ROWS * ngram.LENGTH
    assert remembered > len(training_text(tiny, ngram.LENGTH)) - 2 * ngram.BATCH * ngram.LENGTH
    printed = dict(word.split(":") for word in capsys.readouterr().out.splitlines()[-1].split())
    assert float(printed["mixed_loss"]) < float(printed["network_loss"])
    assert not torch.equal(model.gates, ngram.Mixture().gates)
    inputs, targets, _ = ngram.fill_memory(ngram.Memory())
    with torch.inference_mode():
        mixed, alone = (-F.log_softmax(part(inputs), -1).flatten(0, 1) for part in (model, model.network))
    assert mixed.gather(1, targets).mean().item() == pytest.approx(float(printed["mixed_loss"]), abs=0.01)
    assert alone.gather(1, targets).mean().item() == pytest.approx(float(printed["network_loss"]), abs=0.001)
