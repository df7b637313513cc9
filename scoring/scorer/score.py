"""Score one model on one sealed target: every row once, in a secret order, through the channel.

Two slots keep both sides busy: while the server computes the next batch, the scorer works on its private copy of the
last one. A slot is asked again as soon as its logits have been copied out, before they are looked at.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field

from scoring import bpb, shards
from scoring.scorer import sealed
from scoring.scorer.channel import SLOTS, Channel, ScoreFailed
from scoring.scorer.logits import NonFinite, position_nats
from scoring.scorer.order import secret_batches


class ScoreJob(BaseModel):
    """What the runner asks for; one JSON line on stdin."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    shard: str = Field(min_length=1)
    key: str = Field(min_length=1)
    commitment: str = Field(pattern="^[0-9a-f]{64}$")
    seq_len: int = Field(gt=0, le=2**20)
    batch_size: int = Field(gt=0, le=2**14)
    vocab_size: int = Field(gt=1, le=2**16)
    token_bytes: str = Field(min_length=1)
    bos: int = Field(ge=0)
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    channel_fd: int = Field(gt=2)
    threads: int = Field(gt=0, le=1024)


class Rows:
    """A target cut into rows: inputs and targets int64 [R, T], bytes of each target int64 [R, T] (0 = not scored)."""

    def __init__(self, tokens: torch.Tensor, token_bytes: torch.Tensor, seq_len: int, bos: int) -> None:
        count = bpb.row_count(len(tokens), seq_len)
        self.inputs = torch.full((count, seq_len), bos, dtype=torch.int64)
        self.targets = torch.full((count, seq_len), bos, dtype=torch.int64)
        self.bytes = torch.zeros((count, seq_len), dtype=torch.int64)
        for row in range(count):
            start, stop = bpb.row_bounds(row, len(tokens), seq_len)
            self.inputs[row, : stop - start] = tokens[start:stop]
            self.targets[row, : stop - start] = tokens[start + 1 : stop + 1]
            self.bytes[row, : stop - start] = token_bytes[tokens[start + 1 : stop + 1]]
        self.filler = torch.full((seq_len,), bos, dtype=torch.int64)

    def batch(self, rows: list[int], batch_size: int) -> torch.Tensor:
        """Give inputs [B, T]; a batch that is not full is filled up, so that every question has the same shape."""
        return torch.stack([self.inputs[row] for row in rows] + [self.filler] * (batch_size - len(rows)))

    def batch_targets(self, rows: list[int], batch_size: int) -> torch.Tensor:
        """Give targets [B, T], filled up likewise."""
        return torch.stack([self.targets[row] for row in rows] + [self.filler] * (batch_size - len(rows)))


def open_target(job: ScoreJob) -> Rows:
    """Decrypt the target, check it against commitment and job, cut it into rows. Raises ShardError."""
    plaintext, found = sealed.unseal(Path(job.shard), sealed.read_key(Path(job.key)))
    if found != job.commitment:
        raise shards.ShardError("the sealed target is not the one that was committed to")
    facts, tokens = sealed.unpack(plaintext)
    table = shards.read_token_bytes(Path(job.token_bytes), job.vocab_size)
    if (facts.vocab_size, facts.bos) != (job.vocab_size, job.bos):
        raise shards.ShardError("the job's vocabulary is not the sealed target's")
    if shards.sha256(shards.pack_token_bytes(table)) != facts.token_bytes_sha256:
        raise shards.ShardError("the token table is not the one the sealed target was counted with")
    return Rows(torch.tensor(tokens), torch.tensor(table), job.seq_len, job.bos)


def score(job: ScoreJob, *, on_ready: Callable[[], None]) -> bpb.Score:
    """Ask the model server at job.channel_fd for every row of the target.

    The timeout is given once to loading and once to answering. Raises ScoreFailed with an outcome code,
    ShardError when our own files are at fault.
    """
    torch.set_num_threads(job.threads)
    rows = open_target(job)
    shape = {"batch_size": job.batch_size, "seq_len": job.seq_len, "vocab_size": job.vocab_size}
    with socket.socket(fileno=job.channel_fd) as sock, Channel(sock, **shape) as channel:
        channel.await_ready(time.monotonic() + job.timeout_seconds)
        on_ready()
        started = time.monotonic()
        row_nats = ask_all(channel, rows, job.batch_size, started + job.timeout_seconds)
        seconds = time.monotonic() - started
        channel.stop()
    result = bpb.Score(
        total_nats=bpb.total_nats(row_nats),
        num_bytes=int(rows.bytes.sum()),
        num_tokens=int((rows.bytes > 0).sum()),
        rows=len(row_nats),
        seconds=seconds,
    )
    try:
        result.bpb  # noqa: B018  computed here so that a total that is no score fails the run
    except bpb.BadMetric:
        raise ScoreFailed("bad_metric") from None
    return result


def ask_all(channel: Channel, rows: Rows, batch_size: int, deadline: float) -> list[float]:
    """Ask every row once; give the nats of each row, by row number. Raises ScoreFailed."""
    batches = secret_batches(len(rows.inputs), batch_size)
    row_nats = [math.nan] * len(rows.inputs)

    def ask(sequence: int) -> None:
        if sequence < len(batches):
            channel.ask(sequence, sequence % SLOTS, rows.batch(batches[sequence], batch_size))

    for sequence in range(SLOTS):
        ask(sequence)
    for sequence, batch in enumerate(batches):
        dtype = channel.await_answer(sequence, sequence % SLOTS, deadline)
        targets = rows.batch_targets(batch, batch_size).view(-1)
        nats = torch.empty(channel.positions, dtype=torch.float64)
        for start, block in channel.copy_logits(sequence % SLOTS, dtype):
            stop = start + len(block)
            if stop == channel.positions:
                ask(sequence + SLOTS)  # everything is copied: the slot is free while we compute
            try:
                nats[start:stop] = position_nats(block, targets[start:stop])
            except NonFinite:
                raise ScoreFailed("nonfinite") from None
        for slot, row in enumerate(batch):
            row_nats[row] = math.fsum(nats.view(batch_size, -1)[slot][rows.bytes[row] > 0].tolist())
    return row_nats
