"""Follow a submission to its end by asking again and again.

Each round asks for the submission first and for its events second, so that at the end no event is left unseen.
"""

from __future__ import annotations

import time

from leaderboard.cli.answers import Submission, need
from leaderboard.cli.api import Api
from leaderboard.cli.errors import Exit, WaitedOut
from leaderboard.cli.outcome import Outcome, outcome_of
from leaderboard.cli.show import Show
from leaderboard.cli.waiting import FASTEST, GROWTH, SLOWEST, Clock, Waiting


def follow(api: Api, show: Show, number: int, *, timeout: float | None) -> Exit:
    """Follow a submission, show its outcome and return what stands for it. Raises as `Follower.run`."""
    outcome = Follower(api, show, number, timeout=timeout).run()
    show.outcome(outcome)
    return outcome.exit


class Follower:
    """Wait for one submission's outcome and show what happens on the way.

    `timeout` is in seconds from construction, None for no limit.
    """

    def __init__(self, api: Api, show: Show, number: int, *, timeout: float | None, clock: Clock = time) -> None:
        self._api, self._show, self._number = api, show, number
        self._waiting = Waiting(api.base, show.note, self._out_of_time, timeout=timeout, clock=clock)
        self._state = "received"
        self._last_event = 0
        self._reported = False

    def run(self) -> Outcome:
        """Return the outcome. Raises WaitedOut, and what errors.py says of a server that refuses or is gone."""
        pause = FASTEST
        while True:
            submission, moved = self._round()
            outcome = outcome_of(submission, self._api.page(submission.url))
            if outcome:
                return outcome
            pause = FASTEST if moved else min(pause * GROWTH, SLOWEST)
            self._waiting.wait(pause)

    def _round(self) -> tuple[Submission, bool]:
        ask = self._waiting.steadily
        submission = ask(lambda seconds: self._api.submission(self._number, read_seconds=seconds))
        events = ask(lambda seconds: self._api.events(self._number, self._last_event, read_seconds=seconds))
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

    def _out_of_time(self) -> WaitedOut:
        return WaitedOut(
            f"Submission {self._number} is still {self._state.replace('_', ' ')} and goes on without us; "
            f"`submit attach {self._number}` follows it again.",
            data={"submission": self._number, "state": self._state},
        )
