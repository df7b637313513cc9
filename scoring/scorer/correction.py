"""What looking ahead gained, from the differences at strict positions, and how sure that is.

    correction = (1 / (ln 2 · bytes)) · Σ (strict − scored) / expected       bits per byte

Every draw's difference over its chance estimates its stratum's total (Hansen and Hurwitz, 1943), so the mean over a
stratum's draws is unbiased, and their spread gives its variance. A row with a single draw has no spread: all such
rows are collapsed into one stratum, whose spread also holds the differences between rows (Hansen, Hurwitz and Madow,
1953); that is never too small on average. The same holds for systematic draws in random order, treated as if they
were independent. One draw alone counts whole as its own error.

For a deterministic causal model every difference is 0, and so are correction and error, exactly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from scoring.scorer.draw import Draw

LARGEST = 1e12  # nats; a difference beyond it is cut, so that no sum here overflows. No score comes near.
FEWEST = 8  # differences below which a test of their mean says nothing


def correction(draws: Sequence[Draw], differences: Sequence[float], num_bytes: int) -> tuple[float, float]:
    """Estimate Σ (strict − scored) over all positions, and its standard error, both in bits per byte."""
    by_stratum: dict[int, list[float]] = defaultdict(list)
    for one, difference in zip(draws, differences, strict=True):
        alone = one.stratum >= 0 and one.in_stratum == 1
        by_stratum[-2 if alone else one.stratum].append(difference / one.expected)
    unit = math.log(2) * num_bytes
    total = math.fsum(value for values in by_stratum.values() for value in values)
    variance = math.fsum(_variance_of_sum(values) for values in by_stratum.values())
    return total / unit, math.sqrt(variance) / unit


def _variance_of_sum(values: list[float]) -> float:
    """Estimate the variance of the sum of independent values, as if all had one mean."""
    count = len(values)
    if count == 1:
        return values[0] ** 2
    mean = math.fsum(values) / count
    return count / (count - 1) * math.fsum((value - mean) ** 2 for value in values)


def mean_p(differences: Sequence[float]) -> float | None:
    """Give the two-sided p of Student's t for "their mean is zero", by Wallace's normal approximation (1959).

    None for fewer than FEWEST differences.
    """
    count = len(differences)
    if count < FEWEST:
        return None
    mean = math.fsum(differences) / count
    if mean == 0:
        return 1.0
    variance = math.fsum((value - mean) ** 2 for value in differences) / (count - 1)
    if variance == 0:
        return 0.0
    free = count - 1
    t_squared = count * mean**2 / variance
    z = (8 * free + 1) / (8 * free + 3) * math.sqrt(free * math.log1p(t_squared / free))
    return math.erfc(z / math.sqrt(2))
