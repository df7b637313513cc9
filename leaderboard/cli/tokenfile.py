"""Writing tokens into the user's own file: one line for each server, everything else left as it was.

The file may be kept by hand, so it is edited by lines and not written anew; the result is read back before it
replaces the old one, and where it does not say exactly what was meant nothing is changed.
"""

from __future__ import annotations

import fcntl
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaderboard.cli.errors import Usage
from leaderboard.cli.files import SettingsFile, quoted, read_user_file, write_private
from leaderboard.cli.origin import parse_url

_HEAD = "# Kept by `submit login` and by you. A token is sent to the server named beside it and to no other.\n"
_TABLE = re.compile(r"\s*\[\s*tokens\s*\]\s*(#.*)?")


def stored_token(path: Path, origin: str) -> str | None:
    """Return the token that the user's file holds for a server."""
    return read_user_file(path).tokens.get(origin) if path.is_file() else None


def store_token(path: Path, origin: str, token: str, *, url: str) -> None:
    """Write a server's token, and `url` as the user's server where the file names none. The file is 0600 afterwards.

    Raises Usage when the file is kept in a way that cannot be edited by lines.
    """
    with _locked(path):
        old, text = _read(path)
        lines = _without(text, origin)
        added = f"{quoted(origin)} = {quoted(token)}"
        at = next((number for number, line in enumerate(lines) if _TABLE.fullmatch(line)), None)
        if at is None:
            lines += ["", "[tokens]", added] if any(line.strip() for line in lines) else ["[tokens]", added]
        else:
            lines.insert(at + 1, added)
        values = dict(old.values)
        if "url" not in values:
            values["url"] = url
            at = _first_setting(lines)
            lines[at:at] = [f"url = {quoted(url)}", ""]
        _replace(path, lines, values, {**old.tokens, origin: token})


def remove_token(path: Path, origin: str) -> None:
    """Delete a server's token from the user's file; one that is not there changes nothing. Raises as store_token."""
    if not path.is_file():
        return
    with _locked(path):
        old, text = _read(path)
        if origin in old.tokens:
            left = {owner: token for owner, token in old.tokens.items() if owner != origin}
            _replace(path, _without(text, origin), old.values, left)


def _read(path: Path) -> tuple[SettingsFile, str]:
    if not path.is_file():
        return SettingsFile(path), _HEAD
    return read_user_file(path), path.read_text("utf-8")


def _without(text: str, origin: str) -> list[str]:
    """Return the lines of a file but for those that give this server's token."""
    kept, inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = bool(_TABLE.fullmatch(line))
        elif inside and _owner(line) == origin:
            continue
        kept.append(line)
    return kept


def _owner(line: str) -> str | None:
    try:
        ((key, _),) = tomllib.loads(line).items()
        return parse_url(key, "")[1]
    except (ValueError, Usage):
        return None


def _first_setting(lines: list[str]) -> int:
    comments = (number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    return next(comments, len(lines))


def _replace(path: Path, lines: list[str], values: dict[str, str], tokens: dict[str, str]) -> None:
    target = path.resolve()  # a link to where the user keeps it stays a link
    fresh = write_private(target, "\n".join(lines) + "\n")
    try:
        said: SettingsFile | None = read_user_file(fresh)
    except Usage:
        said = None
    if said is None or (said.values, said.tokens) != (values, tokens):
        fresh.unlink()
        raise Usage(f"{path} is written in a way that submit cannot change safely; edit its [tokens] yourself.")
    fresh.replace(target)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other logins out of the folder, so that none of two at once loses the other's token."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
    except OSError as error:
        raise Usage(f"{path} cannot be written: {error.strerror}.") from error
