"""A model scored through the real server, and what becomes of one that cannot be."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from scoring import bpb, shards
from scoring.scorer import sealed
from scoring.scorer.channel import ScoreFailed
from scoring.scorer.score import read_target, score
from scoring.scorer.task import ScoreJob
from tests.scoring.tiny import ROOT, VOCAB, Tiny, model_server

SCRIPT = f"""
import torch
class Model(torch.nn.Module):
    def forward(self, tokens):
        assert tokens.dtype == torch.int64 and not torch.is_grad_enabled() and not self.training
        return {{}}
def load_for_eval(path, device):
    return Model()
V = {VOCAB}
assert __name__ != "__main__"
"""
# A model that knows every last token makes the next one likelier by one nat.
BIGRAM = SCRIPT.replace("{}", "torch.nn.functional.one_hot((tokens + 1) % V, V).to(torch.bfloat16)")


def nothing() -> None:
    """There is nobody to tell."""


def scored(tiny: Tiny, folder: Path, script: str, **changes: Any) -> bpb.Score:
    with model_server(folder, script) as (channel, _):
        return score(tiny.job(channel.detach(), **changes), on_ready=nothing, on_scored=nothing).score


def by_hand(tiny: Tiny) -> tuple[float, int, int]:
    """Compute the nats, bytes and tokens of BIGRAM on the public target without torch, rows or batches."""
    key = sealed.read_key(tiny.home / "sealed/key")
    facts, tokens = sealed.unpack(sealed.unseal(tiny.home / "sealed/tiny/public.shard", key)[0])
    table = shards.read_token_bytes(tiny.open_dir / "token_bytes.bin", VOCAB)
    norm = math.log(math.e + VOCAB - 1)
    nats = [norm - (token == (last + 1) % VOCAB) for last, token in pairwise(tokens) if token != facts.bos]
    return math.fsum(nats), sum(table[token] for token in tokens[1:]), len(nats)


@pytest.mark.parametrize(("batch_size", "seq_len"), [(4, 32), (300, 19)])
def test_a_score_is_what_a_sum_by_hand_gives(tiny: Tiny, tmp_path: Path, batch_size: int, seq_len: int) -> None:
    score = scored(tiny, tmp_path, BIGRAM, batch_size=batch_size, seq_len=seq_len)
    nats, num_bytes, num_tokens = by_hand(tiny)
    assert score.total_nats == pytest.approx(nats, rel=1e-12)
    assert (score.num_bytes, score.num_tokens) == (num_bytes, num_tokens)
    assert score.num_bytes == tiny.manifest["public"]["bytes"]
    assert score.rows == math.ceil((tiny.manifest["public"]["tokens"] - 1) / seq_len)
    assert score.bpb == pytest.approx(nats / num_bytes / math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("torch.zeros(*tokens.shape, V - 1)", "wrong_shape"),
        ("torch.zeros(*tokens.shape, V, dtype=torch.int32)", "wrong_shape"),
        ("(torch.zeros(*tokens.shape, V), None)", "wrong_shape"),
        ("torch.full((*tokens.shape, V), float('nan'))", "nonfinite"),
        ("1 / 0", "model_crashed"),
        ("__import__('os')._exit(0)", "model_crashed"),
        ("torch.arange(float(V)).mul(-1e6).expand(*tokens.shape, V)", "bad_metric"),
    ],
)
def test_what_cannot_be_scored_has_its_code(tiny: Tiny, tmp_path: Path, body: str, code: str) -> None:
    with pytest.raises(ScoreFailed) as failure:
        scored(tiny, tmp_path, SCRIPT.replace("{}", body))
    assert failure.value.code == code


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("", "AttributeError: the script defines no load_for_eval"),
        (
            "def load_for_eval(path, device):\n    raise ValueError('no such file: ' + path)",
            "no such file: out/final.pt",
        ),
        ("import sys\nsys.exit('not today')", "not today"),
    ],
)
def test_what_does_not_load_says_why_on_its_own_stderr(tiny: Tiny, tmp_path: Path, script: str, reason: str) -> None:
    with model_server(tmp_path, script) as (channel, process):
        with pytest.raises(ScoreFailed) as failure:
            score(tiny.job(channel.detach()), on_ready=nothing, on_scored=nothing)
        said = process.communicate()[1].decode()
    assert failure.value.code == "load_failed"
    assert reason in said
    assert "model_server.py" not in said


def test_nothing_is_printed_about_a_crash_next_to_sealed_text(tiny: Tiny, tmp_path: Path) -> None:
    with model_server(tmp_path, SCRIPT.replace("{}", "int(str(tokens.tolist()))")) as (channel, process):
        with pytest.raises(ScoreFailed):
            score(tiny.job(channel.detach()), on_ready=nothing, on_scored=nothing)
        assert process.communicate() == (b"", b"")


def test_the_script_is_seeded_and_finds_itself_by_name(tiny: Tiny, tmp_path: Path) -> None:
    script = "import random, sys, torch\nprint(random.random(), torch.rand(1).item())\n" + BIGRAM
    script += "assert sys.modules[__name__].V == V and sys.argv == ['train.py']\n"
    with model_server(tmp_path, script) as (channel, process):
        score(tiny.job(channel.detach()), on_ready=nothing, on_scored=nothing)
        said = process.communicate()[0].decode()
    drawn = torch.rand(1, generator=torch.Generator().manual_seed(11)).item()
    assert said == f"{Random(11).random()} {drawn}\n"  # noqa: S311 the server's own seed


def test_a_large_batch_is_copied_in_blocks(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoring.scorer.channel.BLOCK_BYTES", 10 * VOCAB * 2)  # ten positions of bfloat16
    assert scored(tiny, tmp_path, BIGRAM).total_nats == pytest.approx(by_hand(tiny)[0], rel=1e-12)


@pytest.mark.parametrize("change", [{"commitment": "0" * 64}, {"bos": 1}, {"vocab_size": VOCAB - 1}])
def test_our_own_mistakes_are_not_the_scripts(tiny: Tiny, change: dict[str, Any]) -> None:
    with pytest.raises(shards.ShardError):
        read_target(tiny.job(3, **change))


def test_another_token_table_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    table = bytearray((tiny.open_dir / "token_bytes.bin").read_bytes())
    table[40] += 1
    (tmp_path / "table").write_bytes(table)
    with pytest.raises(shards.ShardError, match="token table"):
        read_target(tiny.job(3, token_bytes=str(tmp_path / "table")))


def run_command(channel: int, line: str) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run(
        [sys.executable, "-m", "scoring.scorer", "score"],
        input=line + "\n",
        pass_fds=[channel],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    os.close(channel)
    return done.returncode, [json.loads(said) for said in done.stdout.splitlines()]


def test_the_command_says_ready_and_then_the_score(tiny: Tiny, tmp_path: Path) -> None:
    with model_server(tmp_path, BIGRAM) as (sock, _):
        channel = sock.detach()
        code, said = run_command(channel, tiny.job(channel).model_dump_json())
    assert (code, said[0], said[1]["ok"]) == (0, {"event": "ready"}, True)
    assert said[1]["score"]["total_nats"] == pytest.approx(by_hand(tiny)[0], rel=1e-12)


def test_the_command_owns_up_to_a_fault_of_the_host(tiny: Tiny, tmp_path: Path) -> None:
    channel = os.open("/dev/null", os.O_RDONLY)
    job = tiny.job(channel, key=str(tmp_path / "nowhere"))
    assert run_command(channel, job.model_dump_json()) == (3, [{"ok": False, "code": "host_fault"}])


@pytest.mark.parametrize("line", ["", "{}", "[" * 5000, "null"])
def test_a_job_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValidationError):
        ScoreJob.model_validate_json(line)


def test_the_command_refuses_such_a_job() -> None:
    assert run_command(os.open("/dev/null", os.O_RDONLY), "{}") == (2, [])
