"""Ask a model server question after question.

Two slots keep both sides busy: while the server computes the next batch, the scorer works on its private copy of the
last one. A slot is asked again as soon as its logits have been copied out, before they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from scoring.scorer.channel import SLOTS, Channel, Piece, ScoreFailed
from scoring.scorer.crew import Crew


def converse(
    channel: Channel, questions: int, tokens: Callable[[int], torch.Tensor], deadline: float, crew: Crew
) -> Iterator[tuple[int, torch.dtype, list[Piece]]]:
    """Ask `questions` questions, `tokens(k)` [B, T] each, in order; give (k, type, private copies of its logits).

    One question may come in several blocks. All answers have the type of the first. Raises ScoreFailed.
    """
    first: torch.dtype | None = None

    def ask(sequence: int) -> None:
        if sequence < questions:
            channel.ask(sequence, sequence % SLOTS, tokens(sequence))

    for sequence in range(SLOTS):
        ask(sequence)
    for sequence in range(questions):
        dtype = channel.await_answer(sequence, sequence % SLOTS, deadline)
        first = first or dtype
        if dtype != first:
            raise ScoreFailed("wrong_shape")
        seen = 0
        for block in channel.copy_logits(sequence % SLOTS, dtype, crew):
            seen += sum(len(piece.logits) for piece in block)
            if seen == channel.positions:
                ask(sequence + SLOTS)  # everything is copied: the slot is free while we compute
            yield sequence, dtype, block
