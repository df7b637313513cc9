"""Patience with a server: ask until an answer comes, within the time there is.

A broken connection and a failing server are waited out, because what is asked about goes on without us; the user hears
of it once, and once more when it is over. What will not get better (no permission, an answer that is no JSON) ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from leaderboard.cli.errors import CliError, ServerFault, Unreachable

T = TypeVar("T")
FASTEST, SLOWEST, GROWTH = 0.5, 2.0, 1.25
LONGEST_BACKOFF = 10.0
GIVE_UP_SECONDS = 600.0


class Clock(Protocol):
    """What waiting needs of `time`."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


class Waiting:
    """Time and connection of one wait. `timeout` is in seconds from construction, None for no limit.

    `note` tells the user about the connection; `over` makes the error for when the time is up.
    """

    def __init__(
        self,
        base: str,
        note: Callable[[str], None],
        over: Callable[[], CliError],
        *,
        timeout: float | None,
        clock: Clock = time,
    ) -> None:
        self._base, self._note, self._over, self._clock = base, note, over, clock
        self._deadline = None if timeout is None else clock.monotonic() + timeout
        self._lost = False

    def steadily(self, ask: Callable[[float], T]) -> T:
        """Ask until an answer comes; 6 tries a minute are enough for a server that is down.

        `ask` is given the seconds that one question may take: a silent server must not stretch the wait.
        """
        pause, since = FASTEST, self._clock.monotonic()
        while True:
            try:
                answer = ask(self._patience())
            except (Unreachable, ServerFault) as error:
                if self._clock.monotonic() - since > GIVE_UP_SECONDS:
                    raise
                if not self._lost:
                    self._lost = True
                    self._note(f"{error.sentence} Asking again; what you wait for goes on meanwhile.")
                self.wait(pause)
                pause = min(pause * 2, LONGEST_BACKOFF)
            else:
                if self._lost:
                    self._lost = False
                    self._note(f"{self._base} answers again.")
                return answer

    def wait(self, seconds: float) -> None:
        """Let time pass, none beyond the end. Raises what `over` makes when there is none left."""
        left = self._left()
        if left is not None and left <= 0:
            raise self._over()
        self._clock.sleep(seconds if left is None else min(seconds, left))

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - self._clock.monotonic()

    def _patience(self) -> float:
        left = self._left()
        return 30.0 if left is None else min(30.0, max(left, 0.1))
