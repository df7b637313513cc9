"""Where strict positions are drawn, after server A has answered: there, above all, where looking ahead would pay.

The weight of position i is EVEN + max(0, reference nats_i − scored nats_i): a model that does better than the phase's
own baseline at a place has to do so again without what follows. Without a reference all weights are equal. Only
scored positions that have something after them in their row can be drawn; a row's last one is the repeat's business.

Where at least one draw falls to each row, rows are strata: each gets its equal share, what is left over goes to heavy
rows, and a row's draws are independent, with replacement. So a model that peeks in one row of a hundred is asked in
that row. Else positions are drawn systematically over all rows in random order. Either way a draw knows how often its
position is drawn on average (`expected`, the π of the correction), so that the sum over draws of difference / expected
is an unbiased estimate of the sum over all positions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import torch

EVEN = 0.1  # nats: what every position weighs, however well the reference does there


@dataclass(frozen=True, slots=True)
class Draw:
    """Ask row `row` up to position `cut`, which is drawn `expected` times on average."""

    row: int
    cut: int
    expected: float
    stratum: int  # its row, or -1 where all rows are one population
    in_stratum: int  # draws that fell to the stratum


def weights(scored: torch.Tensor, sizes: torch.Tensor, reference: torch.Tensor | None) -> torch.Tensor:
    """Weigh positions; scored nats, sizes in bytes and reference nats [R, T] → float64 [R, T], 0 for none."""
    gain = torch.zeros_like(scored) if reference is None else (reference.to(torch.float64) - scored).clamp(min=0)
    weight = (gain + EVEN) * (sizes > 0)
    weight[:, -1] = 0
    return weight


def draw_count(per_row: float, power: int, rows: int) -> int:
    """Count the draws of a shard: at least one wherever any is wanted."""
    return math.ceil(per_row * power * rows - 1e-9)


def draw(weight: torch.Tensor, count: int, random: Random) -> list[Draw]:
    """Draw `count` strict positions by weight float64 [R, T]; by row, then by cut."""
    totals = weight.sum(dim=1).tolist()
    rows = [row for row, total in enumerate(totals) if total > 0]
    if not rows or count <= 0:
        return []
    shuffled = random.sample(rows, len(rows))
    if count < len(rows):
        draws = _systematic(weight, shuffled, count, random)
    else:
        draws = _in_every_row(weight, totals, shuffled, count, random)
    return sorted(draws, key=lambda one: (one.row, one.cut))


def _in_every_row(weight: torch.Tensor, totals: list[float], rows: list[int], count: int, random: Random) -> list[Draw]:
    each, left = divmod(count, len(rows))
    times = dict.fromkeys(rows, each)
    for place in _equal_steps(list(accumulate(totals[row] for row in rows)), left, random):
        times[rows[place]] += 1
    draws = []
    for row, number in times.items():
        values = weight[row].tolist()
        sums = list(accumulate(values))
        for _ in range(number):
            cut = _place(sums, random.random() * sums[-1])
            draws.append(Draw(row, cut, number * values[cut] / sums[-1], stratum=row, in_stratum=number))
    return draws


def _systematic(weight: torch.Tensor, rows: list[int], count: int, random: Random) -> list[Draw]:
    values = weight[rows].flatten().tolist()
    sums = list(accumulate(values))
    draws = []
    for place in _equal_steps(sums, count, random):
        row, cut = divmod(place, weight.shape[1])
        draws.append(Draw(rows[row], cut, count * values[place] / sums[-1], stratum=-1, in_stratum=count))
    return draws


def _equal_steps(sums: list[float], count: int, random: Random) -> list[int]:
    """Draw `count` places in equal steps along running sums, from a random start."""
    start = random.random()
    return [_place(sums, (start + number) * sums[-1] / count) for number in range(count)]


def _place(sums: list[float], where: float) -> int:
    """Find the place that `where` falls into; a place of no weight is never it."""
    place = bisect_right(sums, where)
    return place if place < len(sums) else sums.index(sums[-1])  # rounding may point just beyond the end
