"""The shipped baseline trains in the kit and is scored by it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from scoring import bpb
from scoring.scorer.score import score
from tests.scoring.tiny import ROOT, VOCAB, Tiny, model_server

BASELINE = ROOT / "deploy/demo/scripts/baseline.py"


def test_two_seconds_are_enough_for_a_checkpoint_that_scores(tiny: Tiny, tmp_path: Path) -> None:
    folder = tiny.kit(tmp_path / "kit")
    (folder / "train.py").write_bytes(BASELINE.read_bytes())
    trained = subprocess.run([sys.executable, "train.py"], cwd=folder, capture_output=True, text=True)
    assert trained.returncode == 0, trained.stderr
    assert "step:1 train_loss:" in trained.stdout
    assert [path.name for path in (folder / "out").iterdir()] == ["final.pt"]
    command = [sys.executable, "prepare.py", "eval-public", "--train-py", "train.py", "--checkpoint", "out/final.pt"]
    evaluated = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert evaluated.returncode == 0, evaluated.stderr
    result = json.loads(evaluated.stdout)
    assert result["causality_check"] == {"passed": True, "max_abs_diff": 0.0}
    assert result["val_bpb"] < bpb.bits_per_byte(result["num_tokens"] * math.log(VOCAB), result["num_bytes"])
    with model_server(folder, BASELINE.read_text()) as (channel, _):
        sealed = score(tiny.job(channel.detach()), on_ready=int, on_scored=int).score
    assert sealed.bpb < bpb.bits_per_byte(sealed.num_tokens * math.log(VOCAB), sealed.num_bytes)
