"""What may be typed after `submit`, one function each: their signatures are the command line, their texts its help.

Nothing but Typer is loaded here; each imports what it needs when it is called.
"""

from __future__ import annotations

from typing import Annotated

import typer

from leaderboard.cli.settings import environment

Url = Annotated[str | None, typer.Option("--url", help="Server; also SUBMIT_URL.", show_default=False)]
Competition = Annotated[str | None, typer.Option(help="Slug; also SUBMIT_COMPETITION.", show_default=False)]
Phase = Annotated[str | None, typer.Option(help="Slug; also SUBMIT_PHASE.", show_default=False)]
Timeout = Annotated[float | None, typer.Option(min=0.0, help="Wait this many seconds at most.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object for each event.")]
Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="The submission's number.", show_default=False)]
Private = Annotated[bool, typer.Option("--private", help="The private board, once it is released.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def login(
    url: Url = None,
    token: Annotated[bool, typer.Option("--token", help="Read a token from stdin: no browser needed.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Ask for a token that changes nothing.")] = False,
    as_json: Json = False,
) -> int:
    """Get a token for this machine: a code is shown, you type it on the site."""
    from leaderboard.cli import login as room

    if token:
        return room.login_with_token({"url": url}, environment(), as_json=as_json)
    return room.login({"url": url}, environment(), read_only=read_only, as_json=as_json)


def logout(url: Url = None, as_json: Json = False) -> int:
    """Delete this machine's token for the server and revoke it there."""
    from leaderboard.cli import login as room

    return room.logout({"url": url}, environment(), as_json=as_json)


def whoami(url: Url = None, as_json: Json = False) -> int:
    """Say who the token at hand acts as."""
    from leaderboard.cli import login as room

    return room.whoami({"url": url}, environment(), as_json=as_json)


def own(
    competition: Annotated[str | None, typer.Option(help="Only of this one.", show_default=False)] = None,
    state: Annotated[str | None, typer.Option(help="Only in this state, as ranked.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many.")] = 20,
    url: Url = None,
    as_json: Json = False,
) -> int:
    """List your submissions, newest first."""
    from leaderboard.cli.mine import own as own_ones

    return own_ones({"url": url}, environment(), competition=competition, state=state, limit=limit, as_json=as_json)


def status(
    number: Number,
    wait: Annotated[bool, typer.Option(help="Follow it to its end.")] = False,
    private: Private = False,
    timeout: Timeout = None,
    url: Url = None,
    as_json: Json = False,
) -> int:
    """Show a submission; with --wait follow it again."""
    from leaderboard.cli.look import status as look

    flags = {"url": url}
    return look(number, flags, environment(), wait=wait, private=private, timeout=timeout, as_json=as_json)


def attach(number: Number, timeout: Timeout = None, url: Url = None, as_json: Json = False) -> int:
    """Follow a submission that is already sent, as after sending it."""
    from leaderboard.cli.look import attach as follow

    return follow(number, {"url": url}, environment(), timeout=timeout, as_json=as_json)


def logs(
    number: Number,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    run: Annotated[int, typer.Option(min=1, help="Which run, from 1.")] = 1,
    timeout: Timeout = None,
    url: Url = None,
    as_json: Json = False,
) -> int:
    """Print a run's training log. With -f: 0 when the run is sealed, else as its submission ended."""
    from leaderboard.cli.logs import logs as read

    return read(number, {"url": url}, environment(), run=run, follow=follow, timeout=timeout, as_json=as_json)


def cancel(number: Number, yes: Yes = False, url: Url = None, as_json: Json = False) -> int:
    """Stop a submission that has not ended."""
    from leaderboard.cli.takeback import take_back

    return take_back(number, "cancel", {"url": url}, environment(), yes=yes, as_json=as_json)


def withdraw(number: Number, yes: Yes = False, url: Url = None, as_json: Json = False) -> int:
    """Take a submission back, also off the board."""
    from leaderboard.cli.takeback import take_back

    return take_back(number, "withdraw", {"url": url}, environment(), yes=yes, as_json=as_json)


def standings(
    competition: Competition = None,
    phase: Phase = None,
    private: Private = False,
    url: Url = None,
    as_json: Json = False,
) -> int:
    """Print the board of a phase."""
    from leaderboard.cli.look import standings as look

    flags = {"url": url, "competition": competition, "phase": phase}
    return look(flags, environment(), private=private, as_json=as_json)
