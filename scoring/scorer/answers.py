"""What server A answered: the nats of every position, and as many logits as fit under a cap.

Logits are kept in the type they were given in, in private memory: server P's are compared with them. Where a shard is
too large for that, the rows that are kept are drawn evenly, secretly and before anything is asked; of the others the
nats at every position remain, and those are compared. A model that differs only in logits that no target touches, and
only in rows beyond the cap, is not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from secrets import SystemRandom

import torch

from scoring.scorer.asking import converse
from scoring.scorer.channel import Channel, Piece, ScoreFailed
from scoring.scorer.crew import Crew
from scoring.scorer.logits import NonFinite, measure
from scoring.scorer.order import secret_batches
from scoring.scorer.target import Rows

KEPT_BYTES = 1 << 30


@dataclass
class Answers:
    """Answers to whole rows: nats and sizes float64 [R, T] (see measure), kept pieces and (batch, slot) by row."""

    nats: torch.Tensor
    sizes: torch.Tensor
    kept: dict[int, list[Piece]] = field(default_factory=dict)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32

    @property
    def batches(self) -> int:
        """Count the questions that A was asked."""
        return 1 + max(batch for batch, _ in self.places.values())

    def by_row(self, rows: Rows) -> list[float]:
        """Add up each row's nats over its scored positions, without rounding error."""
        return [math.fsum(nats[size > 0].tolist()) for nats, size in zip(self.nats, rows.bytes, strict=True)]


def ask_all(
    channel: Channel,
    rows: Rows,
    batch_size: int,
    deadline: float,
    crew: Crew,
    *,
    keep: bool,
    random: Random | None = None,
) -> Answers:
    """Ask every row once, in a secret order, and keep logits of up to KEPT_BYTES for a comparison.

    Raises ScoreFailed.
    """
    batches = secret_batches(len(rows), batch_size, random)
    answers = Answers(*torch.full((2, *rows.inputs.shape), math.nan, dtype=torch.float64))
    answers.places = {row: (b, slot) for b, batch in enumerate(batches) for slot, row in enumerate(batch)}
    order = list(range(len(rows)))
    (random or SystemRandom()).shuffle(order)
    chosen: set[int] | None = None if keep else set()

    def tokens(sequence: int) -> torch.Tensor:
        return rows.batch(batches[sequence], batch_size)

    for sequence, dtype, block in converse(channel, len(batches), tokens, deadline, crew):
        batch = batches[sequence]
        if chosen is None:
            chosen = set(order[: _room(block, rows.seq_len)])
        answers.dtype = dtype
        pieces = [(batch[piece.slot], piece) for piece in block if piece.slot < len(batch)]  # the rest fills it up
        try:
            measured = crew.each(lambda one: measure(one[1].logits, _targets(rows, *one)), pieces)
        except NonFinite:
            raise ScoreFailed("nonfinite") from None
        for (row, piece), (nats, sizes) in zip(pieces, measured, strict=True):
            answers.nats[row, piece.start : piece.stop] = nats
            answers.sizes[row, piece.start : piece.stop] = sizes
            if row in chosen:
                answers.kept.setdefault(row, []).append(piece)
    return answers


def _room(block: list[Piece], seq_len: int) -> int:
    """Count the rows whose logits fit under the cap."""
    logits = block[0].logits
    return KEPT_BYTES // (seq_len * logits.shape[1] * logits.itemsize)


def _targets(rows: Rows, row: int, piece: Piece) -> torch.Tensor:
    return rows.targets[row, piece.start : piece.stop]
