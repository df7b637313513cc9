"""Ask server P, and compare its answers with server A's.

What follows a strict question's cut is real text of the dev shard from a random place, so a question looks like any
other; its first token is never the hidden one, or nothing would have been asked. What is compared is everything up to
the cut: the loss there, and the logits at every position, since a model that looks ahead by two shows it one position
earlier. Equal bits are seen by comparing bits; only what differs is computed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from secrets import SystemRandom

import torch

from scoring.scorer.answers import Answers
from scoring.scorer.asking import converse
from scoring.scorer.channel import Channel, Piece, ScoreFailed
from scoring.scorer.correction import LARGEST
from scoring.scorer.crew import Crew
from scoring.scorer.logits import PIECE_BYTES, NonFinite, measure
from scoring.scorer.questions import Batch, Question
from scoring.scorer.target import Rows
from scoring.scorer.tolerance import tolerance


@dataclass
class Seen:
    """What became of one question: the largest tolerance, positions compared, how many lie beyond, the worst of them.

    `difference` is strict minus scored nats at the cut, 0 for a repeat; `end_beyond` is about a whole row's last place.
    """

    question: Question
    tolerance: float = 0.0
    compared: int = 0
    beyond: int = 0
    worst: float = 0.0
    position: int = 0
    difference: float = 0.0
    end_beyond: bool = False

    def note(self, start: int, distances: torch.Tensor, allowed: torch.Tensor) -> None:
        """Take in distances and what is allowed, float64 [P], at positions from `start` on."""
        self.tolerance = max(self.tolerance, min(float(allowed.max()), LARGEST))
        self.compared += len(distances)
        self.beyond += int((distances > allowed).sum())
        where = int(distances.argmax())
        if float(distances[where]) > self.worst:
            self.worst, self.position = min(float(distances[where]), LARGEST), start + where


def hide(rows: Rows, question: Question | None, dev: torch.Tensor, random: Random) -> torch.Tensor:
    """Give the tokens [T] of a question: its row, and dev text after its cut; dev text alone for an empty seat."""
    if question is None:
        return _text(dev, rows.seq_len, random)
    tokens = rows.inputs[question.row]
    if question.cut is None:
        return tokens
    hidden = int(rows.targets[question.row, question.cut])
    seen = tokens[: question.cut + 1]
    return torch.cat([seen, _text(dev, rows.seq_len - len(seen), random, hidden)])


def _text(dev: torch.Tensor, length: int, random: Random, not_first: int = -1) -> torch.Tensor:
    """Cut `length` tokens out of the dev shard at a random place, going round at its end."""
    for _ in range(64):
        start = random.randrange(len(dev))
        if int(dev[start]) != not_first:
            break
    return dev[torch.arange(start, start + length) % len(dev)]


def ask_probes(
    channel: Channel,
    batches: Sequence[Batch],
    answers: Answers,
    rows: Rows,
    dev: torch.Tensor,
    crew: Crew,
    *,
    device: str,
    deadline: float,
) -> list[Seen]:
    """Ask all batches in order, one at a time; give what became of each question. Raises ScoreFailed."""
    random = SystemRandom()
    seen = [[None if question is None else Seen(question) for question in batch] for batch in batches]

    def tokens(sequence: int) -> torch.Tensor:
        return torch.stack([hide(rows, question, dev, random) for question in batches[sequence]])

    for sequence, dtype, block in converse(channel, len(batches), tokens, deadline, crew, at_once=1):
        if dtype != answers.dtype:
            raise ScoreFailed("wrong_shape")
        records = [(seen[sequence][piece.slot], piece) for piece in block]
        try:
            crew.each(lambda one: _compare(*one, answers, rows, device), records)
        except NonFinite:
            raise ScoreFailed("nonfinite") from None
    return [record for batch in seen for record in batch if record is not None]


def _compare(record: Seen | None, piece: Piece, answers: Answers, rows: Rows, device: str) -> None:
    if record is None:
        return
    row, cut = record.question.row, record.question.cut
    count = len(piece.logits) if cut is None else min(piece.stop, cut + 1) - piece.start
    if count <= 0:
        return
    targets = rows.targets[row, piece.start : piece.stop]
    allowed = tolerance(device, answers.dtype, answers.sizes[row, piece.start : piece.start + count])
    before = next((kept.logits for kept in answers.kept.get(row, ()) if kept.start == piece.start), None)
    ends_here = cut is not None and piece.start + count == cut + 1
    if before is None:  # in the same shape as then: sums of another shape may be rounded otherwise
        change = measure(piece.logits, targets)[0] - answers.nats[row, piece.start : piece.stop]
        distances = change[:count].abs()
        difference = float(change[count - 1])
    else:
        distances = _distances(before[:count], piece.logits[:count], device, allowed)
        last = slice(count - 1, count)
        difference = 0.0
        if ends_here and distances[-1] > 0:
            difference = float(measure(piece.logits[last], targets[last])[0] - measure(before[last], targets[last])[0])
    if ends_here:
        record.difference = max(-LARGEST, min(difference, LARGEST))
        distances[-1] = max(float(distances[-1]), abs(record.difference))
    elif cut is None and piece.stop == rows.seq_len:
        record.end_beyond = bool(distances[-1] > allowed[-1])
    record.note(piece.start, distances, allowed)


def _distances(before: torch.Tensor, now: torch.Tensor, device: str, allowed: torch.Tensor) -> torch.Tensor:
    """Give the largest distance of logits [P, V] at each position, float64 [P]. Raises NonFinite.

    On accelerators a logit that is itself larger than what its position is measured by (far below the top) has coarser
    steps: its distance is told in those, scaled to the position's.
    """
    distances = torch.zeros(len(now), dtype=torch.float64)
    if torch.equal(before, now):
        return distances
    low, high = torch.aminmax(now)
    if not (torch.isfinite(low) and torch.isfinite(high)):
        raise NonFinite
    step = max(1, PIECE_BYTES // (8 * now.shape[1]))
    for start in range(0, len(now), step):
        part = slice(start, start + step)
        wide, limit = before[part].double(), allowed[part, None]
        apart = (now[part].double() - wide).abs_()
        if device != "cpu":
            apart *= limit / tolerance(device, before.dtype, wide.abs_()).clamp(min=limit)
        distances[part] = apart.amax(dim=1)
    return distances
