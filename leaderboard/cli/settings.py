"""Where a setting comes from: flag, the script's own lines, environment, project file, user file; the first one wins.

Two settings stand apart. `url` is never read from a script. And a token is a thing with an owner: each is recorded
with the origin it was given for, and only one whose origin is the server we are about to ask is used. So no file that
comes with someone else's script can send it elsewhere. Of several, the user's own go first: SUBMIT_TOKEN, then the user
file, and last what a project file names, which may be somebody else's account. Whoever sends with that one is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from leaderboard.cli import files
from leaderboard.cli.errors import NotAuthenticated, Usage
from leaderboard.cli.files import SettingsFile, write_project_file
from leaderboard.cli.origin import parse_url

_UNOWNED = " (SUBMIT_TOKEN is set without SUBMIT_URL, and a project file's address is not trusted with it)"
__all__ = ["Settings", "environment", "resolve", "write_project_file"]


@dataclass(frozen=True)
class Settings:
    """Everything a command needs to know about where to go and as whom; None where nobody said."""

    base: str
    origin: str
    named_by: str  # where the address comes from, for sentences
    trusted: bool  # whether the user named it: on the command line, in the environment or in their own file
    user_file: Path
    token: str | None
    lender: Path | None  # the project file that the token comes from, if it does
    stranded: str  # why the tokens at hand are not for this server, or nothing
    competition: str | None
    phase: str | None
    launch: str | None
    note: str | None

    def need_token(self) -> str:
        """Return the token for this server; raises NotAuthenticated with the way to give one."""
        if self.token:
            return self.token
        raise NotAuthenticated(
            f"No token for {self.origin} is at hand{self.stranded}; `submit login` gets one, "
            "or set SUBMIT_URL and SUBMIT_TOKEN together."
        )


def resolve(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    script_lines: Mapping[str, str],
    folder: Path,
    home: Path,
) -> Settings:
    """Combine the five sources.

    `flags` holds url, competition, phase, launch, note (None where not typed); `environ` the process environment.
    Raises Usage when no server is named or a file is wrong, NotAuthenticated when a token file is open to others.
    """
    project_path = files.find_project_file(folder, home)
    project = files.read_project_file(project_path) if project_path else SettingsFile(folder)
    user_path = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "holdout" / "submit.toml"
    user = files.read_user_file(user_path) if user_path.is_file() else SettingsFile(user_path)

    def first(key: str) -> str | None:
        sources = (flags, script_lines, _from_environ(environ), project.values, user.values)
        return next((value for source in sources if (value := source.get(key))), None)

    url = flags.get("url") or environ.get("SUBMIT_URL") or project.values.get("url") or user.values.get("url")
    if not url:
        raise Usage("No server is named: `submit login --url ADDRESS` once, or set SUBMIT_URL, or give --url.")
    named_by = _source(url, flags, environ, project, user)
    base, origin = parse_url(url, named_by)
    trusted = url in (flags.get("url"), environ.get("SUBMIT_URL"), user.values.get("url"))
    tokens = list(_tokens(flags, environ, project, user))
    token, lender = next(((token, path) for owner, token, path in tokens if owner == origin), (None, None))
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise NotAuthenticated(f"The token for {origin} has characters that no token has; copy it again.")
    stranded = ""
    if tokens:
        owner = tokens[0][0]
        stranded = f" (the one for {owner} is never sent to another server)" if owner else _UNOWNED
    named = {key: first(key) for key in ("competition", "phase", "launch", "note")}
    return Settings(base, origin, named_by, trusted, user_path, token, lender, stranded, **named)


def environment() -> Mapping[str, str]:
    """Return the process environment: installed without the site, the CLI cannot ask leaderboard.env."""
    return os.environ


def _from_environ(environ: Mapping[str, str]) -> dict[str, str]:
    return {key: environ.get(f"SUBMIT_{key.upper()}", "") for key in ("competition", "phase", "launch", "note")}


def _tokens(
    flags: Mapping[str, str | None], environ: Mapping[str, str], project: SettingsFile, user: SettingsFile
) -> Iterator[tuple[str | None, str, Path | None]]:
    """Yield (origin, token, project file) in order of precedence; origin None: it belongs nowhere and goes nowhere.

    SUBMIT_TOKEN belongs to SUBMIT_URL; without that to the address that the user typed, or keeps in the user's own
    file. It never belongs to an address that a project file names.
    """
    if token := environ.get("SUBMIT_TOKEN"):
        owner = environ.get("SUBMIT_URL") or flags.get("url") or user.values.get("url")
        yield (parse_url(owner, "SUBMIT_URL")[1] if owner else None), token, None
    yield from ((owner, token, None) for owner, token in user.tokens.items())
    yield from ((owner, token, project.path) for owner, token in project.tokens.items())


def _source(
    url: str, flags: Mapping[str, str | None], environ: Mapping[str, str], project: SettingsFile, user: SettingsFile
) -> str:
    if flags.get("url") == url:
        return "--url"
    if environ.get("SUBMIT_URL") == url:
        return "SUBMIT_URL"
    return str(project.path if project.values.get("url") == url else user.path)
