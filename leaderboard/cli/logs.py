"""`submit logs ID`: a run's training log, and with -f what comes, until the run has ended.

Standard output carries the log and nothing else; sentences go to standard error. With -f the exit code is 0 when the
run is sealed; when there is no more to come for another reason it is that of the submission's end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from leaderboard.cli import show as shows
from leaderboard.cli.answers import LogPiece, Submission
from leaderboard.cli.api import Api
from leaderboard.cli.errors import Exit, Interrupted, ReaderGone, Usage, WaitedOut
from leaderboard.cli.outcome import outcome_of
from leaderboard.cli.settings import resolve
from leaderboard.cli.waiting import FASTEST, GROWTH, SLOWEST, Clock, Waiting
from leaderboard.cli.words import clean, state_word

_A_PIECE = 32 << 10  # the server gives more than this while there is more: a shorter piece ends where the log does
_SEALED = ("sealed", "scoring", "scored")
_LAST_LOOKS = 5


def logs(
    number: int,
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    run: int,
    follow: bool,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Print the log of a run, counted from 1. Raises Usage for a run that there is not."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    settings.need_token()
    with Api(settings) as api:
        tail = Tail(api, number, run, timeout=timeout, as_json=as_json)
        try:
            return tail.follow() if follow else tail.print()
        except KeyboardInterrupt as error:
            raise Interrupted(f"Stopped reading; submission {number} goes on.", data={"submission": number}) from error


class Tail:
    """One run's log as it is read: where we are, and of which attempt."""

    def __init__(
        self, api: Api, number: int, run: int, *, timeout: float | None, as_json: bool, clock: Clock = time
    ) -> None:
        self._api, self._number, self._run, self._as_json = api, number, run, as_json
        self._waiting = Waiting(api.base, self._note, self._out_of_time, timeout=timeout, clock=clock)
        self._offset = self._attempt = 0
        self._open = False  # the last character written ends no line
        self._returned = False  # the last piece ended in a carriage return

    def print(self) -> Exit:
        """Print what there is now."""
        submission = self._look()
        while True:
            piece, grown = self._read()
            if grown < _A_PIECE:
                break
        self._end_line(piece.missing)
        if not piece.attempt:
            self._note(f"Run {self._run} of submission {self._number} has no log yet: {state_word(submission.state)}.")
        return Exit.OK

    def follow(self) -> Exit:
        """Print what there is and what comes, until the run has ended and its log is whole."""
        self._look()
        pause, idle = FASTEST, 0
        while True:
            piece, grown = self._read()
            idle = 0 if grown else idle + 1
            if not grown or piece.final:
                submission = self._look()
                if self._over(submission) and (piece.final or not piece.attempt or idle >= _LAST_LOOKS):
                    return self._ended(submission, piece.missing)
            if grown >= _A_PIECE:
                continue
            pause = FASTEST if grown else min(pause * GROWTH, SLOWEST)
            self._waiting.wait(pause)

    def _look(self) -> Submission:
        submission = self._waiting.steadily(lambda seconds: self._api.submission(self._number, read_seconds=seconds))
        if submission.runs and self._run > len(submission.runs):
            count = f"{len(submission.runs)} run{'' if len(submission.runs) == 1 else 's'}"
            raise Usage(f"Submission {self._number} has {count}; --run counts them from 1.")
        return submission

    def _read(self) -> tuple[LogPiece, int]:
        """Write the next piece and return it with the bytes that it brought."""
        piece = self._waiting.steadily(
            lambda seconds: self._api.log(self._number, self._offset, self._run - 1, read_seconds=seconds)
        )
        if piece.attempt != self._attempt:
            again, self._attempt = self._attempt > 0, piece.attempt
            if again:
                self._end_line()
                self._note(f"Run {self._run} starts again (attempt {piece.attempt}), and its log with it.")
                self._offset = 0
                return self._read()
        grown = piece.next - self._offset
        if self._as_json and piece.text:
            where = {"submission": self._number, "run": self._run, "attempt": piece.attempt, "offset": self._offset}
            shows.say_json({"event": "log", **where, "text": piece.text})
        elif piece.text:
            self._write(piece.text)
        self._offset = piece.next
        return piece, grown

    def _write(self, text: str) -> None:
        if self._returned and text.startswith("\n"):
            text = text[1:]
        self._returned = text.endswith("\r") if text else self._returned
        shown = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
        if not shown:
            return
        self._open = not shown.endswith("\n")
        try:
            sys.stdout.write(shown)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise ReaderGone from error

    def _over(self, submission: Submission) -> bool:
        return self._state(submission) in (*_SEALED, "failed", "errored", "cancelled") or bool(
            outcome_of(submission, submission.url)
        )

    def _state(self, submission: Submission) -> str:
        runs = submission.runs
        return str(runs[self._run - 1].get("state")) if self._run <= len(runs) else ""

    def _ended(self, submission: Submission, missing: int) -> Exit:
        self._end_line(missing)
        state = self._state(submission)
        outcome = outcome_of(submission, self._api.page(submission.url))
        if outcome and state not in _SEALED:
            if self._as_json:
                shows.say_json(outcome.event)
            else:
                sys.stderr.write(f"submit: {outcome.sentence}\n")
            return outcome.exit
        if self._as_json:
            shows.say_json({"event": "log_ended", "submission": self._number, "run": self._run, "state": state})
        else:
            self._note(f"Run {self._run} has ended; `submit attach {self._number}` follows its submission further.")
        return Exit.OK if state in _SEALED else Exit.FAILED if state == "failed" else Exit.PLATFORM

    def _end_line(self, missing: int = 0) -> None:
        if self._open and not self._as_json:
            shows.say("")
            self._open = False
        if missing:
            self._note(f"The last {missing:,} bytes of this log never reached the site.")

    def _note(self, sentence: str) -> None:
        if self._as_json:
            shows.say_json({"event": "note", "reason": sentence})
        else:
            sys.stderr.write(f"submit: {sentence}\n")

    def _out_of_time(self) -> WaitedOut:
        self._end_line()
        return WaitedOut(
            f"Submission {self._number} goes on without us; `submit logs {self._number} -f` reads on.",
            data={"submission": self._number, "run": self._run},
        )
