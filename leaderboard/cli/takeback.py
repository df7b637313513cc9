"""`submit cancel ID` and `submit withdraw ID`: take a submission back, before its end or also after it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from leaderboard.cli import show as shows
from leaderboard.cli.account import tell_account
from leaderboard.cli.answers import Submission
from leaderboard.cli.api import Api
from leaderboard.cli.errors import Exit, Interrupted, Usage
from leaderboard.cli.settings import resolve
from leaderboard.cli.words import one_line, state_word

_ASKS = {
    "cancel": "It stops, and it cannot be started again.",
    "withdraw": "It leaves the board and stops if it still runs; it is kept, hidden, and does not come back.",
}


def take_back(
    number: int, verb: str, flags: Mapping[str, str | None], environ: Mapping[str, str], *, yes: bool, as_json: bool
) -> Exit:
    """Cancel or withdraw a submission after asking; without a terminal to ask at, only with `yes`. Raises Usage."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    settings.need_token()
    with Api(settings) as api:
        tell_account(settings, api)
        if not yes:
            _confirm(api.submission(number), verb)
        try:
            submission = api.take_back(number, verb)
        except Usage as error:
            if error.code == "already_over" and verb == "cancel":
                ranked = api.submission(number).state == "ranked"
                hint = f" `submit withdraw {number}` takes it off the board." if ranked else ""
                raise Usage(f"{error.sentence}{hint}", code=error.code, data={"submission": number}) from error
            raise
    if as_json:
        quota = {"quota": submission.quota}
        shows.say_json({"event": "withdrawn", "submission": number, "state": submission.state, **quota})
    else:
        shows.say(f"Submission {number} is {state_word(submission.state)}.")
    return Exit.OK


def _confirm(submission: Submission, verb: str) -> None:
    if not sys.stdin.isatty():
        raise Usage(f"There is no terminal to ask at; `submit {verb} {submission.id} --yes` does it without asking.")
    where = ", ".join(part for part in (submission.competition, submission.phase) if part)
    version = f", version {submission.version}" if submission.version is not None else ""
    what = one_line(f"Submission {submission.id} ({where}{version}) is {state_word(submission.state)}.")
    sys.stderr.write(f"{what} {_ASKS[verb]}\n{verb.capitalize()} it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("Nothing was changed.", data={"submission": submission.id})
