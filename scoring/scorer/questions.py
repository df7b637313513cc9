"""Which questions server P is asked, in which order, and in which company.

Strict questions come first. Their rows are dealt to lanes, one slot of the batch each: a lane is a stretch of adjacent
rows in their order, and of a row all cuts in ascending order. A batch takes the next question of each lane, and is
answered before the next one is shown. So when a question is asked, nothing that was asked before, and nothing in the
same batch, holds what follows its cut: not the row itself, nor the row after it, which begins with this row's last
target. Only where one lane ends and another begins has the row after been asked before, so that this one token was
seen: in no more rows than a batch has slots, at random places, and a row's last target is never asked strictly. With as
few batches it cannot be avoided. P may know the order: it was never shown the continuation.

Repeats come last: by then P has been asked everything else. A row comes back whole, in another slot than A's, among as
few of its former neighbours as can be, and never beside an adjacent row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random

from scoring.scorer.draw import Draw


@dataclass(frozen=True, slots=True)
class Question:
    """Ask a row up to position `cut` and hide the rest, or the whole row; `draw` numbers the strict draw it answers."""

    row: int
    cut: int | None = None
    draw: int | None = None


Batch = list[Question | None]  # one for each slot; None is filled up with dev text


def strict_batches(draws: Sequence[Draw], batch_size: int, rows: int, random: Random) -> list[Batch]:
    """Seat strict questions; `draws` are in order of row and cut, of a shard of `rows` rows."""
    start = random.randrange(max(rows, 1))  # where the first lane begins
    questions = [Question(one.row, one.cut, number) for number, one in enumerate(draws)]
    questions.sort(key=lambda one: (one.row - start) % rows)  # stable: cuts stay in order
    lanes = _lanes([list(group) for _, group in groupby(questions, key=lambda one: one.row)], batch_size)
    batches = []
    while any(lanes):
        seated: list[Question] = []
        for lane in lanes:
            if lane and all(abs(lane[0].row - other.row) != 1 for other in seated):
                seated.append(lane.popleft())
        batch: Batch = [*seated, *[None] * (batch_size - len(seated))]
        random.shuffle(batch)
        batches.append(batch)
    return batches


def _lanes(by_row: list[list[Question]], batch_size: int) -> list[deque[Question]]:
    """Cut a sequence of rows, each whole, into at most `batch_size` stretches of about equally many questions."""
    count = max(1, min(batch_size, len(by_row) // 2))
    total = sum(map(len, by_row))
    lanes: list[deque[Question]] = [deque() for _ in range(count)]
    done = 0
    for questions in by_row:
        lanes[done * count // total].extend(questions)
        done += len(questions)
    return lanes


def repeat_batches(
    rows: Sequence[int], places: Mapping[int, tuple[int, int]], batch_size: int, random: Random
) -> list[Batch]:
    """Seat whole rows that A was asked in `places` (batch, slot): other slot, other company, other order."""
    count = -(-len(rows) // batch_size) + (len(rows) > 1)  # one more than needed, for room to choose
    batches: list[Batch] = [[None] * batch_size for _ in range(count if rows else 0)]
    for row in random.sample(rows, len(rows)):
        seats = [seat for batch in batches for seat in _seats(row, batch, places)]
        if not seats:
            batches.append([None] * batch_size)
            seats = list(_seats(row, batches[-1], places))
        fewest = min(known for known, _, _ in seats)
        _, batch, slot = random.choice([seat for seat in seats if seat[0] == fewest])
        batch[slot] = Question(row)
    return [batch for batch in batches if any(batch)]


def _seats(row: int, batch: Batch, places: Mapping[int, tuple[int, int]]) -> Iterator[tuple[int, Batch, int]]:
    """Give (former neighbours in it, batch, slot) for every seat of a batch that `row` may take."""
    others = [one.row for one in batch if one is not None]
    if any(abs(row - other) == 1 for other in others):
        return
    asked_in, slot_then = places[row]
    known = sum(places[other][0] == asked_in for other in others)
    for slot, taken in enumerate(batch):
        if taken is None and (slot != slot_then or len(batch) == 1):
            yield known, batch, slot
