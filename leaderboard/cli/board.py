"""A board as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from leaderboard.cli.answers import number
from leaderboard.cli.table import Column, Row, table_lines
from leaderboard.cli.words import bpb_text, digits, duration, moment, one_line


def board_lines(board: dict[str, Any], width: int) -> Iterator[str]:
    """Yield the board's lines, each at most `width` cells wide (as long as the first columns fit at all)."""
    from rich.cells import cell_len, set_cell_size

    shard = f" · {one_line(board['shard'])}" if board.get("shard") else ""
    title = one_line(f"{board.get('competition', '')} · {board.get('phase', '')}{shard} · lower is better")
    yield title if cell_len(title) <= width else set_cell_size(title, width)
    rows = board["rows"]
    if not rows:
        yield "Nobody is ranked yet; the first script that ends ranked appears here: `submit script.py`."
        return
    yield from table_lines(_columns(digits(board.get("rounding"))), rows, width)
    if left := board.get("left"):
        yield f"{one_line(left)} left after the release."


def _columns(places: int | None) -> list[Column]:
    return [
        Column("rank", _plain("rank"), 0, right=True),
        Column("team", _plain("team"), 2, widest=24),
        Column("version", lambda row: f"v{one_line(row.get('version', '?'))}", 3),
        Column("bits per byte", lambda row: bpb_text(row, places), 1),
        Column("used / granted", _compute, 4),
        Column("method", _plain("note"), 5),
        Column("when", lambda row: moment(row.get("when")), 6),
    ]


def _compute(row: Row) -> str:
    used, granted = number(row, "compute_used_seconds"), number(row, "compute_granted_seconds")
    if used is None or granted is None:
        return ""
    return f"{duration(used)} / {duration(granted)}"


def _plain(key: str) -> Callable[[Row], str]:
    return lambda row: one_line("" if row.get(key) is None else row[key])
