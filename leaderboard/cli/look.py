"""`submit status ID` and `submit standings`: reading, no writing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from leaderboard.cli import show as shows
from leaderboard.cli.answers import number as number_of
from leaderboard.cli.board import board_lines
from leaderboard.cli.errors import Exit
from leaderboard.cli.send import choose_phase, interrupted
from leaderboard.cli.settings import resolve
from leaderboard.cli.words import progress, state_word


def status(
    number: int,
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    wait: bool,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Show a submission, or with `wait` follow it. The exit code is its outcome's, 0 while it has none."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    settings.need_token()

    from leaderboard.cli.api import Api
    from leaderboard.cli.follow import Follower
    from leaderboard.cli.outcome import outcome_of

    show = shows.choose(as_json=as_json, file=f"submission {number}")
    with Api(settings) as api:
        try:
            submission = api.submission(number)
            outcome = outcome_of(submission, api.page(submission.url))
            if outcome is None and wait:
                outcome = Follower(api, show, number, timeout=timeout).run()
            elif submission.report and not as_json:
                show.report(submission, submission.report)
            if outcome:
                show.outcome(outcome)
                return outcome.exit
            if as_json:
                show.received(submission, api.base)
            else:
                reached = progress(submission)
                shows.say(f"Submission {number} is {state_word(submission.state)}{f', {reached}' if reached else ''}.")
                shows.say(f"`submit status {number} --wait` follows it.")
            return Exit.OK
        except KeyboardInterrupt as error:
            raise interrupted(number) from error
        finally:
            show.close()


def standings(flags: Mapping[str, str | None], environ: Mapping[str, str], *, as_json: bool) -> Exit:
    """Print a phase's board. A token is used where one is at hand; an open board needs none."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())

    from leaderboard.cli.api import Api

    with Api(settings) as api:
        competition, phase = choose_phase(settings, api)
        board = api.standings(competition, phase)
    for row in board["rows"]:
        for key in ("bpb", "ci_low", "ci_high"):
            number_of(row, key)
    if as_json:
        shows.say_json({**board, "event": "standings"})
        return Exit.OK
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    for line in board_lines(board, width):
        shows.say(line)
    return Exit.OK
