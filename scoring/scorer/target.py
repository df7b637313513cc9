"""A sealed target, opened, checked and cut into rows; and the dev text that stands in for what a probe hides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from scoring import bpb, shards
from scoring.scorer import sealed


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

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def seq_len(self) -> int:
        return self.inputs.shape[1]

    def batch(self, rows: Sequence[int], batch_size: int) -> torch.Tensor:
        """Give inputs [B, T]; a batch that is not full is filled up, so that every question has the same shape."""
        return torch.stack([self.inputs[row] for row in rows] + [self.filler] * (batch_size - len(rows)))


def open_target(
    path: Path, key: bytes, token_bytes: Path, *, commitment: str, vocab_size: int, bos: int, seq_len: int
) -> tuple[sealed.Facts, Rows]:
    """Decrypt a target, check it against commitment, vocabulary and token table, cut it. Raises ShardError."""
    plaintext, found = sealed.unseal(path, key)
    if found != commitment:
        raise shards.ShardError("the sealed target is not the one that was committed to")
    facts, tokens = sealed.unpack(plaintext)
    table = shards.read_token_bytes(token_bytes, vocab_size)
    if (facts.vocab_size, facts.bos) != (vocab_size, bos):
        raise shards.ShardError("the job's vocabulary is not the sealed target's")
    if shards.sha256(shards.pack_token_bytes(table)) != facts.token_bytes_sha256:
        raise shards.ShardError("the token table is not the one the sealed target was counted with")
    return facts, Rows(torch.tensor(tokens), torch.tensor(table), seq_len, bos)


def open_dev(path: Path, vocab_size: int) -> torch.Tensor:
    """Read the dev shard's tokens, int64. Raises ShardError when it is empty or of another vocabulary."""
    tokens = torch.tensor(shards.unpack_tokens(path.read_bytes(), path.name), dtype=torch.int64)
    if len(tokens) == 0 or int(tokens.max()) >= vocab_size:
        raise shards.ShardError(f"{path.name}: no text of this vocabulary")
    return tokens
