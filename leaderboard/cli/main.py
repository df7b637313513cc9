"""The `submit` command: what may be typed, and how every way to end becomes a sentence and an exit code.

The first word decides. If it is the name of a subcommand, that is meant; anything else is the form that sends a
script. A script that has such a name is written `./status`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

from leaderboard.cli import commands
from leaderboard.cli.commands import Competition, Json, Phase, Timeout, Url
from leaderboard.cli.errors import CliError, Exit, Interrupted, PlatformFault, QuotaUsed, ReaderGone, Usage
from leaderboard.cli.settings import environment

Policy = Annotated[
    Path | None, typer.Option(help="A competition file, or a policy table: its severities.", show_default=False)
]
_EPILOG = (
    "Also, each with --help: submit login, logout, whoami; submit list, submit status ID, attach ID, logs ID, "
    "cancel ID, withdraw ID; submit standings; submit rules CODE. Ends with 0 ranked or clean, 2 usage, "
    "3 not authenticated, 4 rejected, 5 quota, 6 failed, 7 platform fault, 8 timed out, 9 in review, 130 interrupted."
)


def _script(
    scripts: Annotated[
        list[str],
        typer.Argument(help="The training script; with --check as many as you like.", metavar="SCRIPT"),
    ],
    check: Annotated[bool, typer.Option("--check", help="Audit here; nothing is sent.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what stops it, into a file beside it; nothing is sent.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Only show what --fix would change.")] = False,
    also: Annotated[
        str | None,
        typer.Option(help="Rules that only warn and --fix repairs as well: H701,H704.", show_default=False),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Let --fix prove it: three steps of both texts, in the sandbox.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where --fix writes.", show_default=False)
    ] = None,
    competition: Competition = None,
    phase: Phase = None,
    launch: Annotated[str | None, typer.Option(help="Launch command.", show_default=False)] = None,
    note: Annotated[str | None, typer.Option(help="The method in one line.", show_default=False)] = None,
    wait: Annotated[bool, typer.Option(help="Follow it to its end.")] = True,
    timeout: Timeout = None,
    url: Url = None,
    as_json: Json = False,
    format: Annotated[
        Literal["text", "json", "github", "sarif"] | None,
        typer.Option(help="What --check prints.", show_default=False),
    ] = None,
    policy: Policy = None,
    unpacked: Annotated[
        bool, typer.Option("--unpacked", help="Let --check print the text inside a packed one.")
    ] = False,
) -> int:
    """Send a training script and follow it to its score."""
    if name := next((script for script in scripts if script in _APPS), None):
        raise Usage(f"`{name}` is a subcommand and comes first; a script of that name is written ./{name}.")
    flags = {"url": url, "competition": competition, "phase": phase, "launch": launch, "note": note}
    if fix or diff or verify:
        from leaderboard.cli.fix import fix_scripts

        options = {"write": fix, "output": output, "also": also, "verify": verify, "policy": policy, "as_json": as_json}
        return fix_scripts(scripts, flags, alone=not (check or unpacked or format), **options)
    if also:
        raise Usage("--also belongs to --fix; add it, or leave it out.")
    if check:
        from leaderboard.cli.check import check as check_scripts

        if as_json and format not in (None, "json"):
            raise Usage(f"--json and --format {format} contradict each other; leave one of them out.")
        chosen = format or ("json" if as_json else "text")
        paths = [Path(script) for script in scripts]
        return check_scripts(paths, format=chosen, policy=policy, flags=flags, unpacked=unpacked)
    if format or policy or unpacked:
        raise Usage("--format, --policy and --unpacked belong to --check; add it, or leave them out.")
    if len(scripts) > 1:
        raise Usage(f"One script is sent at a time, not {len(scripts)}; only --check takes several.")
    from leaderboard.cli.send import send

    return send(Path(scripts[0]), flags, environment(), wait=wait, timeout=timeout, as_json=as_json)


def _rules(
    codes: Annotated[list[str] | None, typer.Argument(metavar="CODE", help="A rule, as K101.")] = None,
    policy: Policy = None,
    as_json: Json = False,
) -> int:
    """List the rules of the audit, or explain one."""
    from leaderboard.cli.rules import rules

    return rules(codes or [], policy=policy, as_json=as_json)


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
    "rules": _rules,
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

    if "--json" in arguments or "--format=json" in arguments or _follows(arguments, "--format", "json"):
        say_json(error.event())
    sentence = error.sentence
    if isinstance(error, QuotaUsed):
        sentence += _next_slot(error)
    sys.stderr.write(f"submit: {clean(sentence)}\n")
    return int(error.exit)


def _follows(arguments: Sequence[str], word: str, next_one: str) -> bool:
    return (word, next_one) in pairwise(arguments)


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
