"""Follow a submission to its end by asking again and again.

Each round asks for the submission first and for its events second, so that at the end no event is left unseen.
A broken connection and a failing server are waited out, because the submission goes on without us; the user hears of
it once, and once more when it is over. What will not get better (no permission, an answer that is no JSON) ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from leaderboard.cli.answers import Submission, need
from leaderboard.cli.api import Api
from leaderboard.cli.errors import ServerFault, Unreachable, WaitedOut
from leaderboard.cli.outcome import Outcome, outcome_of
from leaderboard.cli.show import Show

T = TypeVar("T")
_FASTEST, _SLOWEST, _GROWTH = 0.5, 2.0, 1.25
_LONGEST_BACKOFF = 10.0
GIVE_UP_SECONDS = 600.0


class Clock(Protocol):
    """What following needs of `time`."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


class Follower:
    """Wait for one submission's outcome and show what happens on the way.

    `timeout` is in seconds from construction, None for no limit.
    """

    def __init__(self, api: Api, show: Show, number: int, *, timeout: float | None, clock: Clock = time) -> None:
        self._api, self._show, self._number, self._clock = api, show, number, clock
        self._deadline = None if timeout is None else clock.monotonic() + timeout
        self._state = "received"
        self._last_event = 0
        self._reported = False
        self._lost = False

    def run(self) -> Outcome:
        """Return the outcome. Raises WaitedOut, and what errors.py says of a server that refuses or is gone."""
        pause = _FASTEST
        while True:
            submission, moved = self._round()
            outcome = outcome_of(submission, self._api.page(submission.url))
            if outcome:
                return outcome
            pause = _FASTEST if moved else min(pause * _GROWTH, _SLOWEST)
            self._wait(pause)

    def _round(self) -> tuple[Submission, bool]:
        submission = self._steadily(lambda: self._api.submission(self._number, read_seconds=self._patience()))
        events = self._steadily(lambda: self._api.events(self._number, self._last_event, read_seconds=self._patience()))
        self._state = submission.state
        for event in events:
            self._last_event = max(self._last_event, need(event, "id", int))
            if event.get("kind") != "progress":  # how far it is stands in the submission itself, up to now
                self._show.event(submission, event)
        if submission.report and not self._reported:
            self._reported = True
            self._show.report(submission, submission.report)
        self._show.progress(submission)
        return submission, bool(events)

    def _steadily(self, ask: Callable[[], T]) -> T:
        """Ask until an answer comes; 4 tries a minute are enough for a server that is down."""
        pause, since = _FASTEST, self._clock.monotonic()
        while True:
            try:
                answer = ask()
            except (Unreachable, ServerFault) as error:
                if self._clock.monotonic() - since > GIVE_UP_SECONDS:
                    raise
                if not self._lost:
                    self._lost = True
                    self._show.note(f"{error.sentence} Asking again; the submission goes on meanwhile.")
                self._wait(pause)
                pause = min(pause * 2, _LONGEST_BACKOFF)
            else:
                if self._lost:
                    self._lost = False
                    self._show.note(f"{self._api.base} answers again.")
                return answer

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - self._clock.monotonic()

    def _patience(self) -> float:
        """Seconds one question may take: a silent server must not stretch --timeout."""
        left = self._left()
        return 30.0 if left is None else min(30.0, max(left, 0.1))

    def _wait(self, seconds: float) -> None:
        left = self._left()
        if left is not None and left <= 0:
            raise WaitedOut(
                f"Submission {self._number} is still {self._state.replace('_', ' ')} and goes on without us; "
                f"`submit status {self._number} --wait` follows it again.",
                data={"submission": self._number, "state": self._state},
            )
        self._clock.sleep(seconds if left is None else min(seconds, left))
