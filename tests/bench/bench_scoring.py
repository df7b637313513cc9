"""Sealed scoring against the same forward and loss in one process, on the same rows with the same model."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path

import torch

from scoring import shards
from scoring.scorer import sealed
from scoring.scorer.channel import TYPES
from scoring.scorer.logits import position_nats
from scoring.scorer.result import Result
from scoring.scorer.score import read_target, score
from scoring.scorer.target import Rows
from scoring.scorer.task import Probing, ScoreJob

VOCAB, LENGTH, BATCH, TOKENS, REPEATS = 1024, 256, 8, 62_000, 3
ROOT = Path(__file__).parents[2]
# The demo's size: two layers, width 192; what it computes matters less than how long it takes.
MODEL = f"""
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding({VOCAB}, 192)
        layer = nn.TransformerEncoderLayer(192, 3, 768, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([layer, layer])
        self.head = nn.Linear(192, {VOCAB})
    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1))
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(x)
def load_for_eval(path, device):
    torch.manual_seed(1)
    return Model().eval()
"""


def run() -> list[tuple[str, float, str]]:
    """Measure both ways in turn, and give the ratio of the best times; and what probing adds to the better one."""
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script").write_text(MODEL)
        (folder / "constants.json").write_text('{"seed": 1}')
        job = _target(folder, threads)
        space: dict[str, object] = {}
        exec(MODEL, space)  # noqa: S102 the text above
        model = space["load_for_eval"](None, None)  # type: ignore[operator]
        alone, apart, probing = [], [], []
        for _ in range(REPEATS):
            torch.set_num_threads(threads)  # the scorer leaves one
            alone.append(_in_one_process(model, read_target(job)[1]))
            result = _sealed(folder, job)
            apart.append(result.score.seconds)
            probing.append(result.probed.seconds)
            if result.breaches or result.probed.verdict.correction != 0:
                raise ValueError(result.breaches)
    note = f"{min(apart):.2f} s against {min(alone):.2f} s, {TOKENS} tokens, V {VOCAB}, {threads} threads"
    asked = result.probed.verdict
    again = f"{min(probing):.2f} s for {asked.strict['asked']} strict positions and {asked.repeat['asked']} rows"
    return [
        ("sealed scoring / forward and loss in one process", min(apart) / min(alone), note),
        (
            f"probing / scoring, {result.score.rows} rows",
            min(probing) / min(apart),
            f"{again}, one row in twenty twice",
        ),
    ]


def _target(folder: Path, threads: int) -> ScoreJob:
    draw = random.Random(1)  # noqa: S311 the same tokens every time
    table = shards.pack_token_bytes(array("H", [0] + [2] * (VOCAB - 1)))
    (folder / "table").write_bytes(table)
    tokens = array("H", draw.choices(range(VOCAB), k=TOKENS))
    (folder / "dev.bin").write_bytes(shards.pack_tokens(array("H", draw.choices(range(VOCAB), k=TOKENS))))
    facts = sealed.Facts("bench", "public", VOCAB, 0, 1, 2 * TOKENS, TOKENS, shards.sha256(table))
    commitment = sealed.seal(folder / "shard", sealed.ensure_key(folder / "key"), sealed.pack(facts, tokens))
    return ScoreJob(
        shard=str(folder / "shard"),
        key=str(folder / "key"),
        commitment=commitment,
        checkpoint="c" * 64,
        seq_len=LENGTH,
        batch_size=BATCH,
        vocab_size=VOCAB,
        token_bytes=str(folder / "table"),
        bos=0,
        timeout_seconds=120,
        channel_fd=3,
        threads=threads,
    )


@torch.inference_mode()
def _in_one_process(model: torch.nn.Module, rows: Rows) -> float:
    started = time.perf_counter()
    for start in range(0, len(rows.inputs), BATCH):
        logits = model(rows.inputs[start : start + BATCH])
        if logits.dtype not in TYPES.values():
            raise TypeError(logits.dtype)
        position_nats(logits.flatten(0, 1), rows.targets[start : start + BATCH].flatten())
    return time.perf_counter() - started


def _sealed(folder: Path, job: ScoreJob) -> Result:
    """Score by server A, then probe by server P, which is started when A is done."""
    channels = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    servers = [_serve(folder, channels[0][1])]
    (to_a, _), (to_p, _) = channels
    probing = Probing(
        strict_per_row=1.0,
        repeats=0.05,
        power=1,
        reference=None,
        channel_fd=to_p.detach(),
        dev=str(folder / "dev.bin"),
    )
    own = job.model_copy(update={"channel_fd": to_a.detach(), "probing": probing})
    result = score(own, on_ready=int, on_scored=lambda: servers.append(_serve(folder, channels[1][1])))
    for server in servers:
        server.wait(30)
    return result


def _serve(folder: Path, channel: socket.socket) -> subprocess.Popen[bytes]:
    server = [sys.executable, str(ROOT / "scoring/harness/model_server.py"), str(channel.fileno()), "none"]
    places = ["--script", str(folder / "script"), "--constants", str(folder / "constants.json")]
    with channel:
        return subprocess.Popen(server + places, pass_fds=[channel.fileno()], cwd=folder)
