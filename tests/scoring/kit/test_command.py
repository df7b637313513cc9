"""`python prepare.py eval-public`: what cannot be scored is said in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scoring.tiny import Tiny

EvalPublic = Callable[..., subprocess.CompletedProcess[str]]
UNIFORM = """
import os, torch
class Uniform(torch.nn.Module):
    def forward(self, tokens):
        return torch.zeros(*tokens.shape, 300)
def load_for_eval(checkpoint_path, device):
    print("spins", os.environ["GOMP_SPINCOUNT"])
    return Uniform()
"""


@pytest.fixture
def eval_public(tiny: Tiny, tmp_path: Path) -> EvalPublic:
    """Run the command in a kit's folder on a script's text, None for no script, with or without a checkpoint."""
    folder = tiny.kit(tmp_path / "kit")

    def run(script: str | None, *, trained: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        if script is not None:
            (folder / "train.py").write_text(script)
        if trained:
            (folder / "out").mkdir()
            (folder / "out/final.pt").write_bytes(b"weights")
        env = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"} | more
        command = [sys.executable, "prepare.py", "eval-public"]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    return run


NOT_A_MODEL = "def load_for_eval(checkpoint_path, device):\n    return 7\n"


@pytest.mark.parametrize(
    ("script", "trained", "sentence"),
    [
        (UNIFORM, False, "there is no checkpoint out/final.pt: train first (python train.py), or name one with"),
        (None, True, "there is no script train.py: name it with --train-py"),
        ("x = 1\n", True, "train.py defines no load_for_eval(checkpoint_path, device)"),
        (NOT_A_MODEL, True, "load_for_eval of train.py returned int, not a torch.nn.Module"),
    ],
)
def test_what_is_missing_is_one_sentence(
    eval_public: EvalPublic, script: str | None, trained: bool, sentence: str
) -> None:
    ended = eval_public(script, trained=trained)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"prepare.py: {sentence}")
    assert len(ended.stderr.splitlines()) == 1


def test_what_the_script_itself_raises_is_shown_whole(eval_public: EvalPublic) -> None:
    ended = eval_public("def load_for_eval(checkpoint_path, device):\n    return 1 / 0\n")
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr
    assert "return 1 / 0" in ended.stderr


def test_waiting_threads_do_not_spin_unless_one_wants_them_to(eval_public: EvalPublic) -> None:
    ended = eval_public(UNIFORM)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("spins 0\n")


def test_a_spin_count_of_ones_own_stays(eval_public: EvalPublic) -> None:
    assert eval_public(UNIFORM, GOMP_SPINCOUNT="7").stdout.startswith("spins 7\n")
