"""The `submit` command: what may be typed, and how every way to end becomes a sentence and an exit code.

The first word decides. If it is the name of a subcommand, that is meant; anything else is the form that sends a
script. A script that has such a name is written `./status`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from leaderboard.cli import commands
from leaderboard.cli.commands import Competition, Json, Phase, Timeout, Url
from leaderboard.cli.errors import CliError, Exit, Interrupted, PlatformFault, QuotaUsed, ReaderGone, Usage
from leaderboard.cli.settings import environment

_EPILOG = (
    "Also, each with --help: submit login, logout, whoami; submit list, submit status ID, attach ID, logs ID, "
    "cancel ID, withdraw ID; submit standings. Ends with 0 ranked or clean, 2 usage, 3 not authenticated, 4 rejected, "
    "5 quota, 6 failed, 7 platform fault, 8 timed out, 9 in review, 130 interrupted."
)


def _script(
    script: Annotated[str, typer.Argument(help="The training script.", metavar="SCRIPT", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Audit here; nothing is sent.")] = False,
    competition: Competition = None,
    phase: Phase = None,
    launch: Annotated[str | None, typer.Option(help="Launch command.", show_default=False)] = None,
    note: Annotated[str | None, typer.Option(help="The method in one line.", show_default=False)] = None,
    wait: Annotated[bool, typer.Option(help="Follow it to its end.")] = True,
    timeout: Timeout = None,
    url: Url = None,
    as_json: Json = False,
) -> int:
    """Send a training script and follow it to its score."""
    if script in _APPS:
        raise Usage(f"`{script}` is a subcommand and comes first; a script of that name is written ./{script}.")
    if check:
        from leaderboard.cli.check import check as check_script

        return check_script(Path(script), as_json=as_json)
    from leaderboard.cli.send import send

    flags = {"url": url, "competition": competition, "phase": phase, "launch": launch, "note": note}
    return send(Path(script), flags, environment(), wait=wait, timeout=timeout, as_json=as_json)


_APPS: dict[str, Callable[..., int]] = {
    "login": commands.login,
    "logout": commands.logout,
    "whoami": commands.whoami,
    "list": commands.own,
    "status": commands.status,
    "attach": commands.attach,
    "logs": commands.logs,
    "cancel": commands.cancel,
    "withdraw": commands.withdraw,
    "standings": commands.standings,
}


def _run(arguments: Sequence[str]) -> int:
    words = list(arguments)
    name = words.pop(0) if words and words[0] in _APPS else None
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(epilog=None if name else _EPILOG)(_APPS[name] if name else _script)
    program = f"submit {name}" if name else "submit"
    try:
        # Without standalone mode the callback's exit code comes back, and errors of usage are ours to word.
        return int(app(words, prog_name=program, standalone_mode=False) or 0)
    except TyperException as error:
        hint = f"`{program} --help` shows what can be said."
        if name and Path(name).is_file():
            hint = f"For the file of that name write ./{name}."
        raise Usage(f"{error.format_message().rstrip('.')}. {hint}") from error


def main() -> None:
    """Run `submit` and leave the process with its exit code; no traceback reaches the user."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    arguments = sys.argv[1:]
    try:
        code = _run(arguments)
        if code == Exit.INTERRUPTED:  # Typer's answer to Ctrl-C before a command has begun
            raise KeyboardInterrupt
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):
        # What is still buffered would fail once more at exit, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.PIPE_CLOSED
    except CliError as error:
        code = _tell(error, arguments)
    except KeyboardInterrupt:
        code = _tell(Interrupted("Interrupted before anything was sent."), arguments)
    except Exception as error:
        code = _tell(PlatformFault(_unforeseen(error), code="internal"), arguments)
    sys.exit(code)


def _tell(error: CliError, arguments: Sequence[str]) -> int:
    from leaderboard.cli.show import say_json
    from leaderboard.cli.words import clean

    if "--json" in arguments:
        say_json(error.event())
    sentence = error.sentence
    if isinstance(error, QuotaUsed):
        sentence += _next_slot(error)
    sys.stderr.write(f"submit: {clean(sentence)}\n")
    return int(error.exit)


def _next_slot(error: QuotaUsed) -> str:
    from datetime import UTC, datetime

    from leaderboard.cli.words import local_time

    moment = local_time(error.data.get("next_slot"), datetime.now(UTC))
    return f" The next slot opens {moment}." if moment else ""


def _unforeseen(error: Exception) -> str:
    """Name the place for a report, not the values: they may hold a token."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    return f"submit itself failed ({type(error).__name__} at {place}), which is not your script's doing; report it."
