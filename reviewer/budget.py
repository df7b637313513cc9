"""A bound on the work that one text can cause, counted in steps and not in seconds.

Every rule is fast on what people write. What only a hostile text makes slow (a hundred functions that all call each
other, ten thousand returns in one function) ends here, long before the limit of processor time, and a person looks.
"""

from __future__ import annotations

MOST_STEPS = 1_000_000  # a second or two; a real script of 3,500 lines needs some 20,000


class TooMuch(RuntimeError):
    """This text asks for more work than an audit is worth."""


class Budget:
    """The steps that are left to one audit. Once spent, it stays spent."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps away. Raises TooMuch where none are left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch
