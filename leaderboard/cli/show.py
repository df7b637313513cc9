"""Three ways to show a submission on its way: lines, one updating line on a terminal, JSON objects."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from leaderboard.cli.answers import Submission
from leaderboard.cli.errors import ReaderGone
from leaderboard.cli.findings import finding_lines
from leaderboard.cli.outcome import Outcome, ends_waiting
from leaderboard.cli.words import one_line, progress, received, state_word

if TYPE_CHECKING:
    from rich.live import Live

_STEP_SECONDS = 5.0
_STARTS_OVER = ("attempt.lost", "run.repeated")


class Show(Protocol):
    """What the commands tell about a submission, in the order in which it happens."""

    def received(self, submission: Submission, place: str) -> None:
        """The upload is in."""
        ...

    def event(self, submission: Submission, event: dict[str, Any]) -> None:
        """Something happened on the server."""
        ...

    def report(self, submission: Submission, report: dict[str, Any]) -> None:
        """The audit has spoken."""
        ...

    def progress(self, submission: Submission) -> None:
        """This is how far it is; called on every look, also when nothing moved."""
        ...

    def note(self, sentence: str) -> None:
        """Something about the connection, not about the submission."""
        ...

    def outcome(self, outcome: Outcome) -> None:
        """This is the end."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was. May be called twice."""
        ...


def say(text: str, end: str = "\n") -> None:
    """Print to stdout at once: a log that is followed must not lag behind."""
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error


def say_json(value: dict[str, Any]) -> None:
    """Print one object on one line; ASCII, so that no terminal or log can be upset by it."""
    say(json.dumps(value, separators=(", ", ": ")))


class Pace:
    """Let progress through at most every five seconds, and only when it moved."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last, self._text = clock, float("-inf"), ""

    def lets(self, text: str) -> bool:
        """Say whether this progress is to be shown now."""
        now = self._clock()
        if text == self._text or now - self._last < _STEP_SECONDS:
            return False
        self._text, self._last = text, now
        return True


class Lines:
    """Plain lines for logs and pipes."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._pace = Pace()

    def received(self, submission: Submission, place: str) -> None:
        say(received(submission, place))

    def event(self, submission: Submission, event: dict[str, Any]) -> None:
        if not ends_waiting(event.get("state")):  # the outcome says that, and more
            say(_event_line(submission, event))

    def report(self, submission: Submission, report: dict[str, Any]) -> None:
        for line in finding_lines(report, self._file):
            say(line)

    def progress(self, submission: Submission) -> None:
        text = progress(submission)
        if text and self._pace.lets(text):
            say(f"  {text}")

    def note(self, sentence: str) -> None:
        sys.stderr.write(f"submit: {sentence}\n")

    def outcome(self, outcome: Outcome) -> None:
        say(outcome.sentence)

    def close(self) -> None:
        """Nothing to undo."""


class Terminal(Lines):
    """One updating line below what stays: the upload, the findings, the end."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._live: Live | None = None
        self._said = ""

    def event(self, submission: Submission, event: dict[str, Any]) -> None:
        self._said = one_line(event.get("message") or "")
        if event.get("kind") in _STARTS_OVER:  # else the updating line would jump back without a word
            self.note(self._said)

    def progress(self, submission: Submission) -> None:
        reached = progress(submission) or self._said
        self._update(" · ".join(part for part in (state_word(submission.state), reached) if part))

    def report(self, submission: Submission, report: dict[str, Any]) -> None:
        self.close()
        super().report(submission, report)

    def note(self, sentence: str) -> None:
        self.close()
        super().note(sentence)

    def outcome(self, outcome: Outcome) -> None:
        from rich.console import Console
        from rich.text import Text

        self.close()
        colour = {0: "green", 9: "yellow"}.get(outcome.exit, "red")
        head, _, rest = outcome.sentence.partition(" ")
        Console(highlight=False).print(Text.assemble((head, colour), f" {rest}"), soft_wrap=True)

    def close(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _update(self, text: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=Console(highlight=False), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


class Objects:
    """One JSON object for each event on stdout; sentences for people stay on stderr."""

    def __init__(self) -> None:
        self._pace = Pace()

    def received(self, submission: Submission, place: str) -> None:
        say_json(
            {
                "event": "received",
                "submission": submission.id,
                "version": submission.version,
                "competition": submission.competition,
                "phase": submission.phase,
                "state": submission.state,
                "quota": submission.quota,
                "url": submission.url,
            }
        )

    def event(self, submission: Submission, event: dict[str, Any]) -> None:
        say_json({**event, "event": "state", "submission": submission.id})

    def report(self, submission: Submission, report: dict[str, Any]) -> None:
        say_json({"event": "audited", "submission": submission.id, "report": report})

    def progress(self, submission: Submission) -> None:
        running = [run for run in submission.runs if run.get("state") == "running"]
        if running and self._pace.lets(json.dumps(running[0], sort_keys=True)):
            say_json({"event": "progress", "submission": submission.id, "run": running[0]})

    def note(self, sentence: str) -> None:
        say_json({"event": "connection", "reason": sentence})

    def outcome(self, outcome: Outcome) -> None:
        say_json(outcome.event)

    def close(self) -> None:
        """Nothing to undo."""


def choose(*, as_json: bool, file: str) -> Show:
    """Return the way that fits: JSON when asked for, an updating line on a terminal, lines elsewhere."""
    if as_json:
        return Objects()
    return Terminal(file) if sys.stdout.isatty() else Lines(file)


def _event_line(submission: Submission, event: dict[str, Any]) -> str:
    state, message = event.get("state"), one_line(event.get("message") or "")
    parts = [state_word(str(state)) if state else "", message]
    return ": ".join(part for part in parts if part) or one_line(event.get("kind") or "")
