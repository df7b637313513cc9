"""95 % t-intervals of a board's entries.

n ≥ 2: mean ± t(n-1) · s / √n, with the entry's own s. n = 1: the phase's pooled sd and its degrees of freedom,
s_p² = Σ(n_i-1)s_i² / Σ(n_i-1). Where there is no spread to go by (no degrees of freedom, or a spread of zero) the
answer is "not known yet", None, and never an interval of no width.
"""

import math
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Interval:
    """Half width in bits per byte; `pooled` says that the spread is the phase's, `df` how much is behind it."""

    half: float
    df: int
    pooled: bool


@dataclass(frozen=True)
class Pool:
    """The phase's pooled spread: Σ(n_i-1)s_i² and Σ(n_i-1) over its ranked entries."""

    squares: float
    df: int

    @property
    def sd(self) -> float | None:
        """Return s_p, or None while it is not known."""
        return math.sqrt(self.squares / self.df) if self.df > 0 and self.squares > 0 else None


def interval_of(*, n: int, sd: float | None, pool: Pool) -> Interval | None:
    """Return the interval of a mean of n runs with spread `sd`, or None where it is not known yet."""
    if n < 1:
        return None
    if n == 1:
        return None if pool.sd is None else Interval(t_quantile(pool.df) * pool.sd, pool.df, pooled=True)
    if not sd:
        return None
    return Interval(t_quantile(n - 1) * sd / math.sqrt(n), n - 1, pooled=False)


@lru_cache(maxsize=512)
def t_quantile(df: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    from scipy.stats import t  # takes more than a second: nothing that starts the site may need it

    return float(t.ppf(0.975, df))
