"""`submit list`: one's own submissions, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaderboard.cli import show as shows
from leaderboard.cli.answers import need, number
from leaderboard.cli.api import Api
from leaderboard.cli.errors import Exit
from leaderboard.cli.settings import resolve
from leaderboard.cli.table import Column, Row, table_lines, width_of_stdout
from leaderboard.cli.words import bpb_text, digits, moment, one_line, state_word

_PAGE = 100


def own(
    flags: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    competition: str | None,
    state: str | None,
    limit: int,
    as_json: bool,
) -> Exit:
    """List the submissions of the user's teams; only what was typed narrows it, no file and no environment."""
    settings = resolve(flags, environ, {}, Path.cwd(), Path.home())
    settings.need_token()
    narrowed = {"competition": competition, "state": state and state.strip().lower().replace(" ", "_")}
    asked: dict[str, str | int] = {key: value for key, value in narrowed.items() if value}
    found: list[dict[str, Any]] = []
    cursor: int | None = None
    with Api(settings) as api:
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            page, cursor = api.page_of_own({**asked, "limit": size, **({"cursor": cursor} if cursor else {})})
            found += page[:size]
            if cursor is None or not page:
                break
    for row in found:
        need(row, "id", int)
        need(row, "state", str)
        number(row, "bpb")
    if as_json:
        for row in found:
            shows.say_json({**row, "event": "submission"})
        return Exit.OK
    if not found:
        shows.say("No submission fits." if asked else "No submission yet; `submit script.py` sends one.")
        return Exit.OK
    for line in table_lines(_COLUMNS, found, width_of_stdout()):
        shows.say(line)
    if cursor is not None:
        shows.say(f"These are the newest {len(found)}; --limit shows more.")
    return Exit.OK


def _score(row: Row) -> str:
    return "" if number(row, "bpb") is None else bpb_text(row, digits(row.get("rounding"))).partition(" ")[0]


def _text(row: Row, key: str) -> str:
    return one_line("" if row.get(key) is None else row[key])


_COLUMNS = (
    Column("id", lambda row: _text(row, "id"), 0, right=True),
    Column("state", lambda row: state_word(row["state"]), 1),
    Column("bits per byte", _score, 2, right=True),
    Column("version", lambda row: f"v{_text(row, 'version')}", 3),
    Column("competition", lambda row: f"{_text(row, 'competition')}/{_text(row, 'phase')}", 4),
    Column("sent", lambda row: moment(row.get("created")), 5),
    Column("method", lambda row: _text(row, "note"), 6),
    Column("team", lambda row: _text(row, "team"), 7, widest=24),
)
