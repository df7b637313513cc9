"""Ask a model server question after question.

Both sides are kept busy: a question is asked as soon as the logits of an earlier one have been copied out, before they
are looked at, so that the server computes while the scorer works on its private copy.

Server A has two questions before it, one in each slot. Server P has one: whatever lies in shared memory can be read
while an answer is made, and P's next question may hold what follows the place that this one asks about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from scoring.scorer.channel import SLOTS, Channel, Piece, ScoreFailed
from scoring.scorer.crew import Crew


def converse(
    channel: Channel,
    questions: int,
    tokens: Callable[[int], torch.Tensor],
    deadline: float,
    crew: Crew,
    *,
    at_once: int = SLOTS,
) -> Iterator[tuple[int, torch.dtype, list[Piece]]]:
    """Ask `questions` questions, `tokens(k)` [B, T] each, in order; give (k, type, private copies of its logits).

    No more than `at_once` of them are unanswered at any time. One question may come in several blocks. All answers have
    the type of the first. Raises ScoreFailed.
    """
    first: torch.dtype | None = None

    def ask(sequence: int) -> None:
        if sequence < questions:
            channel.ask(sequence, sequence % SLOTS, tokens(sequence))

    for sequence in range(at_once):
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
                ask(sequence + at_once)  # everything is copied: the slot is free while we compute
            yield sequence, dtype, block
