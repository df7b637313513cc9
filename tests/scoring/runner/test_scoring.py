"""From a trained checkpoint to a score: real trainer, real model server, real scorer, each in its own sandbox."""

import json
import math
from pathlib import Path

import pytest

from tests.scoring.runner.scorestage import ScoreStage
from tests.scoring.tiny import VOCAB

pytestmark = pytest.mark.sandbox

UNIFORM = """
import torch
class Uniform(torch.nn.Module):
    def forward(self, tokens):
        return torch.zeros(*tokens.shape, VOCAB)
VOCAB = 300
def load_for_eval(checkpoint_path, device):
    assert open(checkpoint_path, "rb").read() == b"weights"
    return Uniform()
"""
TRAIN = UNIFORM + '\nif __name__ == "__main__":\n    open("out/final.pt", "wb").write(b"weights")\n'


@pytest.fixture
def stage(tmp_path: Path) -> ScoreStage:
    return ScoreStage(tmp_path)


def test_a_trained_checkpoint_is_scored_and_the_number_is_the_metric(stage: ScoreStage) -> None:
    trained = stage.run(TRAIN)
    assert trained.code == "ok", trained.detail
    result = stage.score(TRAIN, checkpoint_sha256=trained.receipt["checkpoint_sha256"])
    assert result.code == "ok", (result.detail, result.stderr)
    score = result.receipt["score"]
    assert score["num_bytes"] == stage.tiny.manifest["public"]["bytes"]
    assert score["total_nats"] == pytest.approx(score["num_tokens"] * math.log(VOCAB), rel=1e-12)
    assert score["bpb"] == pytest.approx(score["total_nats"] / (math.log(2) * score["num_bytes"]))
    assert result.receipt["shards"]["commitment"] == stage.tiny.manifest["public"]["commitment"]


FAILURES = {
    "does not load": ("def load_for_eval(path, device):\n    raise KeyError('blocks.0')\n", "load_failed", "blocks.0"),
    "talks on the channel": (
        UNIFORM + "import os, stat\nfor fd in range(3, 64):\n"
        "  try: stat.S_ISFIFO(os.fstat(fd).st_mode) and os.write(fd, b'x' * 24)\n  except OSError: pass\n",
        "contract",
        "",
    ),
    "a loss beyond any model's": (
        UNIFORM.replace("torch.zeros(*tokens.shape, VOCAB)", "torch.eye(VOCAB)[0].expand(*tokens.shape, VOCAB) * 1e6"),
        "bad_metric",
        "",
    ),
    "wrong shape": (UNIFORM.replace("VOCAB = 300", "VOCAB = 299"), "wrong_shape", ""),
    "not finite": (UNIFORM.replace("torch.zeros(", "float('nan') * torch.zeros("), "nonfinite", ""),
    "dies while asked": (
        UNIFORM.replace("        return", "        import os; os._exit(0)\n        return"),
        "model_crashed",
        "",
    ),
    "too slow": (
        UNIFORM.replace("        return", "        import signal; signal.pause()\n        return"),
        "eval_timeout",
        "",
    ),
    "opens a socket that could linger": (
        UNIFORM.replace(
            "        return", "        import socket; socket.create_server(('127.0.0.1', 0))\n        return"
        ),
        "model_crashed",
        "",
    ),
    "floods the log before it loads": ("while True: print('x' * 1000)\n", "log_limit", ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_model_that_cannot_be_scored_fails_with_its_reason(stage: ScoreStage, name: str) -> None:
    script, code, words = FAILURES[name]
    patience = {"evaluation__timeout_seconds": 6.0} if code == "eval_timeout" else {}
    result = stage.score(script, **patience)
    assert result.exit_code == 0, result.stderr
    assert (result.code, result.receipt["score"]) == (code, None)
    assert words in result.detail
    assert (result.log == "") == (code != "load_failed")


def test_what_a_model_prints_beside_sealed_text_goes_nowhere(stage: ScoreStage) -> None:
    talker = UNIFORM.replace(
        "        return",
        "        import sys; print('sealed', tokens.tolist(), file=sys.stderr, flush=True)\n        return",
    )
    result = stage.score("print('loading')\n" + talker)
    assert result.code == "ok"
    assert result.log == ""
    assert "sealed [[" not in json.dumps(result.events)


def test_nobody_reads_what_a_model_prints_once_it_is_ready(stage: ScoreStage) -> None:
    """Reading costs CPU time that nobody is charged for; unread, a pipe of the model's own would fill up."""
    flood = UNIFORM.replace(
        "        return",
        "        for _ in range(1000): os.write(1, bytes(1 << 16))\n"
        "        while True:\n"
        "            try: os.write(KEPT, bytes(1 << 16))\n"
        "            except BrokenPipeError: break\n"
        "        return",
    )
    result = stage.score("import os\nKEPT = os.dup(1)\n" + flood, evaluation__timeout_seconds=20.0)
    assert result.code == "ok"
    assert result.log == ""


def test_the_model_sees_no_data_and_writes_nowhere(stage: ScoreStage) -> None:
    looker = UNIFORM.replace(
        "    assert",
        "    import os\n"
        "    seen = {n for n in os.listdir('/holdout')}, os.listdir('/work/out'), os.path.exists('/holdout/dev')\n"
        "    try: open('/work/out/x', 'w')\n"
        "    except OSError as error: raise SystemExit(f'{sorted(seen[0])} {seen[1]} {seen[2]} {error.errno}')\n"
        "    assert",
    )
    result = stage.score(looker)
    names = ["constants.json", "harness", "script", "token_bytes.bin", "tokenizer.json"]
    assert f"{names} ['final.pt'] False 30" in result.detail


def test_a_changed_checkpoint_is_not_scored(stage: ScoreStage) -> None:
    digest = stage.plant()
    (stage.checkpoints_dir / digest / "extra").write_text("x")
    result = stage.score(TRAIN, checkpoint_sha256=digest)
    assert (result.exit_code, result.stderr.strip()) == (2, "the sealed checkpoint was changed")
