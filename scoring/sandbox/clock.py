"""The clock of a training run: pure arithmetic on stamps of the supervisor's monotonic clock.

    t0        the program starts
    tN        the N-th step boundary arrives, N = excluded steps (tN = t0 for N = 0)
    startup   min(tN - t0, cap); 0 when tN never comes
    charged   end - t0 - startup
    deadline  t0 + startup + budget; while tN is unknown t0 + cap + budget, the latest that it can be

A boundary that comes too soon only shortens the free start-up; one that comes late is cut at the cap.
"""

import itertools
import statistics
from array import array
from dataclasses import dataclass, field

_KEPT_STEPS = 200_000  # enough for a median; a flood of boundaries must not fill the supervisor's memory


@dataclass
class RunClock:
    """Stamps in seconds of one monotonic clock; `budget`, `cap` and `term` in seconds."""

    budget: float
    cap: float
    excluded_steps: int
    term: float
    t0: float
    tn: float | None = None
    steps: int = 0
    _stamps: "array[float]" = field(default_factory=lambda: array("d"))

    def __post_init__(self) -> None:
        if self.excluded_steps == 0:
            self.tn = self.t0

    def boundary(self, at: float) -> bool:
        """Count a step boundary; True when it is the N-th, on which the data gate opens."""
        self.steps += 1
        if len(self._stamps) < _KEPT_STEPS:
            self._stamps.append(at)
        if self.tn is None and self.steps >= self.excluded_steps:
            self.tn = at
            return True
        return False

    @property
    def startup(self) -> float:
        """Return the free seconds so far decided."""
        return 0.0 if self.tn is None else min(self.tn - self.t0, self.cap)

    @property
    def deadline(self) -> float:
        """Return the stamp at which everything inside is killed."""
        return self.t0 + (self.cap if self.tn is None else self.startup) + self.budget

    @property
    def term_at(self) -> float:
        """Return the stamp at which the program is asked to end."""
        return max(self.deadline - self.term, self.t0)

    def charged(self, end: float) -> float:
        """Return the seconds charged for a run that ended at `end`."""
        return max(end - self.t0 - self.startup, 0.0)

    def over_budget(self, end: float) -> bool:
        """Did the run spend more than its budget?

        Only without tN: with it the kill at the deadline is the limit. That kill's own delay is never the script's.
        """
        return self.tn is None and min(end, self.deadline) > self.t0 + self.budget

    def median_step(self) -> float | None:
        """Return the median seconds between boundaries after tN, None with fewer than two of them."""
        stamps = self._stamps[max(self.excluded_steps - 1, 0) :]
        gaps = [after - before for before, after in itertools.pairwise(stamps)]
        return statistics.median(gaps) if gaps else None
