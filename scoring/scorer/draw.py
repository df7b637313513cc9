"""Where strict positions are drawn, after server A has answered: there, above all, where looking ahead would pay.

Half of the probability goes by gain, max(0, reference nats_i − scored nats_i): a model that does better than the
phase's own baseline at a place has to do so again without what follows. The other half is even (a defensive mixture,
Hesterberg 1995): a model that looks ahead only where it otherwise does worse than the baseline shows no gain, and must
not be asked there less than half as often as if there were no baseline. That also bounds 1 / expected, and so what one
draw can weigh. Where nothing is gained, and without a reference, all of it is even. Only scored positions that have
something after them in their row can be drawn; a row's last one is the repeat's business.

Where at least one draw falls to each row, rows are strata: each gets its equal share, what is left over is drawn among
rows by the mixture over the shard, and a row's draws, by the mixture over the row, are independent, with replacement.
So a model that peeks in one row of a hundred is asked in that row. Else positions are drawn systematically over all
rows in random order, by the mixture over the shard. Either way a draw knows how often its position is drawn on average
(`expected`, the π of the correction), so that the sum over draws of difference / expected is an unbiased estimate of
the sum over all positions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import torch

EVEN = 0.5  # share of the probability that falls evenly on all positions, whatever the reference did there


@dataclass(frozen=True, slots=True)
class Draw:
    """Ask row `row` up to position `cut`, which is drawn `expected` times on average."""

    row: int
    cut: int
    expected: float
    stratum: int  # its row, or -1 where all rows are one population
    in_stratum: int  # draws that fell to the stratum


@dataclass(frozen=True, slots=True)
class Places:
    """Where draws may fall, bool [R, T], and what is gained there over the reference, nats float64 [R, T]."""

    open: torch.Tensor
    gain: torch.Tensor

    def mixture(self, row: int | None = None) -> list[float]:
        """Give the probability of each position of a row, or of all rows one after the other; 0 for none."""
        open_, gain = (field if row is None else field[row] for field in (self.open, self.gain))
        even = open_.flatten().to(torch.float64)
        even /= even.sum()
        gained = gain.flatten().sum()
        if gained <= 0:
            return even.tolist()
        return (EVEN * even + (1 - EVEN) * (gain.flatten() / gained)).tolist()


def places(scored: torch.Tensor, sizes: torch.Tensor, reference: torch.Tensor | None) -> Places:
    """Find where to draw, from scored nats, sizes in bytes and reference nats [R, T]."""
    open_ = sizes > 0
    open_[:, -1] = False
    gain = torch.zeros_like(scored) if reference is None else (reference.to(torch.float64) - scored).clamp(min=0)
    return Places(open_, gain.to(torch.float64) * open_)


def draw_count(per_row: float, power: int, rows: int) -> int:
    """Count the draws of a shard: at least one wherever any is wanted."""
    return math.ceil(per_row * power * rows - 1e-9)


def draw(where: Places, count: int, random: Random) -> list[Draw]:
    """Draw `count` strict positions; by row, then by cut."""
    rows = [row for row, any_ in enumerate(where.open.any(dim=1).tolist()) if any_]
    if not rows or count <= 0:
        return []
    shuffled = random.sample(rows, len(rows))
    over_shard = torch.tensor(where.mixture(), dtype=torch.float64).view(where.open.shape)
    if count < len(rows):
        draws = _systematic(over_shard, shuffled, count, random)
    else:
        draws = _in_every_row(where, over_shard.sum(dim=1).tolist(), shuffled, count, random)
    return sorted(draws, key=lambda one: (one.row, one.cut))


def _in_every_row(where: Places, shares: list[float], rows: list[int], count: int, random: Random) -> list[Draw]:
    each, left = divmod(count, len(rows))
    times = dict.fromkeys(rows, each)
    for place in _equal_steps(list(accumulate(shares[row] for row in rows)), left, random):
        times[rows[place]] += 1
    draws = []
    for row, number in times.items():
        values = where.mixture(row)
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
