"""The files that hold settings: the project's, the user's, and the tokens, each recorded with its origin.

Project file, `.submit.toml` or `var/submit.toml` in the current folder or the nearest parent that has one:

    url = "http://127.0.0.1:8000"
    competition = "demo"
    phase = "open"
    token_file = "submit-token.toml"        # beside this file, or an absolute path

Token file, and the user's own `~/.config/holdout/submit.toml` (which may also hold url, competition, phase):

    [tokens]
    "http://127.0.0.1:8000" = "…"

A project file may come with a clone from anywhere. It holds no token itself, and its `url` can only ever get the
token that is recorded for exactly that origin. One from its `token_file` is used where the user has none of their own
for that server, and never without saying whose account it is.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard.cli.errors import NotAuthenticated, Usage
from leaderboard.cli.origin import parse_url

PROJECT_NAMES = (".submit.toml", "var/submit.toml")
_NAMED = ("url", "competition", "phase")


@dataclass(frozen=True)
class SettingsFile:
    """What one file says: plain values, and tokens by origin with the place they came from."""

    path: Path
    values: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)


def find_project_file(folder: Path, home: Path) -> Path | None:
    """Return the nearest project file, looking upwards to the home folder or the root, whichever comes first.

    In a shared folder such as /tmp another account could leave one for us, so only files of this account, of root
    and of the current folder's owner count.
    """
    trusted = {0, os.geteuid(), folder.stat().st_uid}
    for parent in (folder, *folder.parents):
        for name in PROJECT_NAMES:
            path = parent / name
            if path.is_file() and path.stat().st_uid in trusted:
                return path
        if parent == home:
            break
    return None


def read_project_file(path: Path) -> SettingsFile:
    """Read a project file and the token file it names. Raises Usage, NotAuthenticated."""
    table = _load(path)
    if "token" in table or "tokens" in table:
        raise Usage(f"{path}: a project file holds no token, it is too easily shared; name a `token_file` instead.")
    values = _texts(path, table, (*_NAMED, "token_file"))
    token_file = values.pop("token_file", None)
    if token_file is None:
        return SettingsFile(path, values)
    target = path.parent / Path(token_file).expanduser()
    if not target.is_file():
        raise Usage(f"{path}: its token_file {target} does not exist; write it, or remove that line.")
    return SettingsFile(path, values, read_user_file(target).tokens)


def read_user_file(path: Path) -> SettingsFile:
    """Read the user's file, or a token file. Raises Usage, and NotAuthenticated when others can read its tokens."""
    table = _load(path)
    tokens = table.pop("tokens", {})
    values = _texts(path, table, _NAMED)
    if not isinstance(tokens, dict):
        raise Usage(f'{path}: `tokens` is a table of lines "https://host" = "token".')
    if tokens and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise NotAuthenticated(f"{path} holds tokens and other accounts can open it; run `chmod 600 {path}`.")
    return SettingsFile(path, values, {_origin(path, key): _text(path, key, value) for key, value in tokens.items()})


def write_project_file(path: Path, url: str, token: str, competition: str, phase: str) -> Path:
    """Write a project file and, beside it, its token file `<stem>-token.toml`; both 0600, replaced in one step.

    Returns the token file's path. Missing parent folders are made 0700. Raises Usage for an impossible `url`.
    """
    _, origin = parse_url(url, "write_project_file")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = path.with_name(f"{path.stem.lstrip('.')}-token.toml")
    line = f"{quoted(origin)} = {quoted(token)}"
    write_private(secret, f"# Sent to the server named beside it and to no other.\n[tokens]\n{line}\n").replace(secret)
    named = {"url": url, "competition": competition, "phase": phase, "token_file": secret.name}
    write_private(path, "".join(f"{key} = {quoted(value)}\n" for key, value in named.items())).replace(path)
    return secret


def quoted(text: str) -> str:
    """Return text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML basic string


def write_private(path: Path, text: str) -> Path:
    """Write a new file 0600 beside `path`, to be put in its place by `replace`; return where it is."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The parser's own message can quote the file, and with it a token.
        raise Usage(f"{path} is not valid TOML{_line(error)}; correct it.") from error
    except OSError as error:
        raise Usage(f"{path} cannot be read: {error.strerror}.") from error


def _line(error: ValueError) -> str:
    text = str(error)
    at = text.rfind("(at line ")
    return f" {text[at:]}" if at >= 0 else ""


def _texts(path: Path, table: dict[str, Any], allowed: tuple[str, ...]) -> dict[str, str]:
    for key in table:
        if key not in allowed:
            raise Usage(f"{path}: `{key}` is not a setting; this file may name {', '.join(allowed)}.")
    return {key: _text(path, key, value) for key, value in table.items()}


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Usage(f"{path}: `{key}` must be a text in quotation marks.")
    return value


def _origin(path: Path, key: str) -> str:
    base, origin = parse_url(key, str(path))
    if base.count("/") > 2:
        raise Usage(f"{path}: a token belongs to a whole server, so `{key}` must have no path.")
    return origin
