"""`submit script.py`: read, upload, follow."""

from __future__ import annotations

import secrets
import stat
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard.cli import show as shows
from leaderboard.cli.account import tell_account
from leaderboard.cli.answers import Submission, maybe
from leaderboard.cli.errors import Broken, Exit, Usage
from leaderboard.cli.origin import is_loopback
from leaderboard.cli.scriptlines import read_script_lines
from leaderboard.cli.settings import Settings, resolve
from leaderboard.cli.watch import watching

if TYPE_CHECKING:
    from leaderboard.cli.api import Api

_MAX_SCRIPT = 16 << 20  # far above any phase's own limit, which the server knows
_PAUSES = (0.5, 1.5)  # seconds before an upload is sent again


def read_script(path: Path) -> bytes:
    """Return a script's bytes. Raises Usage for what is no readable, regular file."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Usage(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'not a file'}; name one Python file.")
        with path.open("rb") as file:
            script = file.read(_MAX_SCRIPT + 1)
    except FileNotFoundError as error:
        raise Usage(f"There is no file {path}; check the name and the folder.") from error
    except (OSError, ValueError) as error:
        raise Usage(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(script) > _MAX_SCRIPT:
        raise Usage(f"{path} is larger than {_MAX_SCRIPT >> 20} MB; no phase takes such a script.")
    return script


def send(
    path: Path,
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    wait: bool,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Upload a script and, with `wait`, follow it to its end. Raises what errors.py lists."""
    script = read_script(path)
    settings = resolve(flags, environ, read_script_lines(script, str(path)), Path.cwd(), Path.home())
    settings.need_token()
    warn_of_plain_http(settings)

    from leaderboard.cli.api import Api
    from leaderboard.cli.follow import follow

    show = shows.choose(as_json=as_json, file=str(path))
    with Api(settings) as api, watching(show) as watch:
        tell_account(settings, api)
        competition, phase = choose_phase(settings, api)
        fields = {"competition": competition, "phase": phase, "launch": settings.launch, "note": settings.note}
        given = {key: value for key, value in fields.items() if value is not None}
        try:
            sent = _send(api, show, path.name, script, given)
        except Usage as refused:
            number = watch.number = _earlier(refused)
            if number is None or not wait:
                raise
            show.note(refused.sentence)
        else:
            number = watch.number = sent.id
            show.received(sent, api.base)
        return follow(api, show, number, timeout=timeout) if wait else Exit.OK


def warn_of_plain_http(settings: Settings) -> None:
    """Say on stderr what anybody on the way can read, unless there is no way."""
    if settings.origin.startswith("http://") and not is_loopback(settings.origin):
        sys.stderr.write(f"submit: {settings.origin} is not encrypted, others on the way can read your token.\n")


def _send(api: Api, show: shows.Show, name: str, script: bytes, fields: dict[str, str]) -> Submission:
    """Send an upload, and once more for each pause where the connection breaks: under one key it counts once."""
    key = secrets.token_urlsafe(24)
    for pause in _PAUSES:
        try:
            return api.send(name=name, script=script, fields=fields, key=key)
        except Broken as error:
            show.note(f"{error.sentence.partition(';')[0]}; sending it again, it counts once.")
            time.sleep(pause)
    return api.send(name=name, script=script, fields=fields, key=key)


def _earlier(refused: Usage) -> int | None:
    """Return the submission that this script already is: whoever waits for its outcome is shown that one's."""
    number = refused.data.get("submission")
    return number if refused.code == "duplicate" and isinstance(number, int) else None


def choose_phase(settings: Settings, api: Any) -> tuple[str, str]:
    """Return competition and phase; where nobody named them and only one can be meant, that one.

    Raises Usage with the choices when there are several.
    """
    if settings.competition and settings.phase:
        return settings.competition, settings.phase
    choices = []
    for competition in api.competitions():
        slug = str(competition.get("slug"))
        if settings.competition in (None, slug):
            for phase in maybe(competition, "phases", list) or []:
                if isinstance(phase, dict) and settings.phase in (None, phase.get("slug")):
                    choices.append((slug, str(phase.get("slug")), phase.get("state")))
    possible = [choice for choice in choices if choice[2] == "open"] or choices
    if len(possible) == 1:
        return possible[0][0], possible[0][1]
    named = ", ".join(f"{competition}/{phase}" for competition, phase, _ in possible) or "none fits"
    raise Usage(f"Name a competition and a phase with --competition and --phase; to choose from: {named}.")
