"""What the runner asks of a scorer: one JSON line on stdin, strict in every field."""

from __future__ import annotations

import socket

from pydantic import BaseModel, ConfigDict, Field

from scoring.scorer.channel import Channel

_HASH = "^[0-9a-f]{64}$"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Probing(_Strict):
    """How server P is asked; see scoring.job.Probes. `reference` is the path of the losses to draw by."""

    strict_per_row: float = Field(ge=0, allow_inf_nan=False)
    repeats: float = Field(ge=0, le=1)
    power: int = Field(ge=1)
    reference: str | None
    channel_fd: int = Field(gt=2)
    dev: str = Field(min_length=1)


class ScoreJob(_Strict):
    """Where everything is, and the shapes. The losses of a new reference go to `reference_fd`, if there is one."""

    shard: str = Field(min_length=1)
    key: str = Field(min_length=1)
    commitment: str = Field(pattern=_HASH)
    checkpoint: str = Field(pattern=_HASH)
    seq_len: int = Field(gt=0, le=2**20)
    batch_size: int = Field(gt=0, le=2**14)
    vocab_size: int = Field(gt=1, le=2**16)
    token_bytes: str = Field(min_length=1)
    bos: int = Field(ge=0)
    timeout_seconds: float = Field(gt=0, allow_inf_nan=False)
    channel_fd: int = Field(gt=2)
    threads: int = Field(gt=0, le=1024)
    device: str = Field(default="cpu", pattern="^[a-z]+$")
    probing: Probing | None = None  # None: nothing is asked twice
    reference_fd: int | None = Field(default=None, gt=2)

    def open_channel(self, descriptor: int) -> Channel:
        """Take over the socket `descriptor` as a channel of the job's shape."""
        shape = {"batch_size": self.batch_size, "seq_len": self.seq_len, "vocab_size": self.vocab_size}
        return Channel(socket.socket(fileno=descriptor), **shape)
