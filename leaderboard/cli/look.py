"""`submit status ID`, `submit attach ID` and `submit standings`: reading, no writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from leaderboard.cli import show as shows
from leaderboard.cli.answers import Submission
from leaderboard.cli.answers import number as number_of
from leaderboard.cli.api import Api
from leaderboard.cli.board import board_lines
from leaderboard.cli.errors import Exit
from leaderboard.cli.follow import Follower, follow
from leaderboard.cli.outcome import outcome_of
from leaderboard.cli.probes import probe_lines
from leaderboard.cli.send import choose_phase
from leaderboard.cli.settings import Settings, resolve
from leaderboard.cli.table import width_of_stdout
from leaderboard.cli.watch import watching
from leaderboard.cli.words import private_text, progress, state_word


def status(
    number: int,
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    wait: bool,
    private: bool,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Show a submission, or with `wait` follow it. The exit code is its outcome's, 0 while it has none."""
    show = shows.choose(as_json=as_json, file=f"submission {number}")
    with Api(_with_token(flags, environ)) as api, watching(show, number):
        submission = api.submission(number)
        outcome = outcome_of(submission, api.page(submission.url))
        if outcome is None and wait:
            outcome = Follower(api, show, number, timeout=timeout).run()
            submission = api.submission(number)
        elif submission.report and not as_json:
            show.report(submission, submission.report)
        if outcome:
            more = {"probes": submission.probes, **({"private": submission.private} if private else {})}
            if not as_json:
                _tell_more(submission, private=private)
            show.outcome(replace(outcome, event={**outcome.event, **more}))
            return outcome.exit
        if as_json:
            show.received(submission, api.base)
        else:
            reached = progress(submission)
            shows.say(f"Submission {number} is {state_word(submission.state)}{f', {reached}' if reached else ''}.")
            shows.say(f"`submit attach {number}` follows it.")
        return Exit.OK


def attach(
    number: int,
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Follow a submission to its end and show all that happened to it. The exit code is its outcome's."""
    show = shows.choose(as_json=as_json, file=f"submission {number}")
    with Api(_with_token(flags, environ)) as api, watching(show, number):
        return follow(api, show, number, timeout=timeout)


def standings(flags: Mapping[str, str | None], environ: Mapping[str, str], *, private: bool, as_json: bool) -> Exit:
    """Print a phase's board. A token is used where one is at hand; an open board needs none."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    with Api(settings) as api:
        competition, phase = choose_phase(settings, api)
        board = api.standings(competition, phase, private=private)
    for row in board["rows"]:
        for key in ("bpb", "ci_low", "ci_high"):
            number_of(row, key)
    if as_json:
        shows.say_json({**board, "event": "standings"})
        return Exit.OK
    for line in board_lines(board, width_of_stdout()):
        shows.say(line)
    return Exit.OK


def _with_token(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> Settings:
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    settings.need_token()
    return settings


def _tell_more(submission: Submission, *, private: bool) -> None:
    for line in probe_lines(submission):
        shows.say(line)
    if private:
        shows.say(private_text(submission))
