"""The secret order in which a model is asked.

A row's last target is the next row's first input, so two adjacent rows in one batch would show a model that looks
across its batch the answer it is scored on. Rows are dealt to batches at random, from the system's entropy, such
that neighbours never meet.
"""

from __future__ import annotations

from random import Random
from secrets import SystemRandom


def secret_batches(rows: int, batch_size: int, random: Random | None = None) -> list[list[int]]:
    """Deal rows 0..rows-1 into shuffled batches of at most `batch_size`, no two adjacent rows in one.

    Always possible with two batches or more: the batch that holds most of the undealt places is taken in time.
    """
    random = random or SystemRandom()
    count = max(-(-rows // batch_size), min(rows, 2))
    if count == 0:
        return []
    room = [rows // count + (index < rows % count) for index in range(count)]
    batches: list[list[int]] = [[] for _ in range(count)]
    open_ones = list(range(count))
    last = -1
    for row in range(rows):
        left = rows - row
        fullest = max(open_ones, key=room.__getitem__)
        must = room[fullest] > left // 2 and fullest != last  # else its places could only be filled with neighbours
        last = fullest if must else random.choice([batch for batch in open_ones if batch != last])
        batches[last].append(row)
        room[last] -= 1
        if room[last] == 0:
            open_ones.remove(last)
    for batch in batches:
        random.shuffle(batch)
    random.shuffle(batches)
    return batches
