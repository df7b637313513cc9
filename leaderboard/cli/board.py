"""A board as text: fits the width by dropping columns, never by wrapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from leaderboard.cli.answers import number
from leaderboard.cli.words import bpb_text, digits, duration, one_line

Row = dict[str, Any]
_GAP = "  "


@dataclass(frozen=True)
class _Column:
    title: str
    text: Callable[[Row, int | None], str]
    keep: int  # the highest is dropped first
    right: bool = False
    widest: int = 40


def board_lines(board: dict[str, Any], width: int) -> Iterator[str]:
    """Yield the board's lines, each at most `width` cells wide (as long as the first columns fit at all)."""
    from rich.cells import cell_len, set_cell_size

    title = one_line(f"{board.get('competition', '')} · {board.get('phase', '')} · lower is better")
    yield title if cell_len(title) <= width else set_cell_size(title, width)
    rows = board["rows"]
    if not rows:
        yield "Nobody is ranked yet; the first script that ends ranked appears here: `submit script.py`."
        return
    places = digits(board.get("rounding"))
    table = [(column, [_cut(column.text(row, places), column.widest) for row in rows]) for column in _COLUMNS]
    sizes = [max(cell_len(text) for text in (column.title, *texts)) for column, texts in table]
    shown = sorted(range(len(table)), key=lambda index: table[index][0].keep)
    while len(shown) > 1 and sum(sizes[index] + len(_GAP) for index in shown) - len(_GAP) > width:
        shown.pop()
    shown.sort()
    for line in range(-1, len(rows)):
        cells = []
        for index in shown:
            column, texts = table[index]
            text = column.title if line < 0 else texts[line]
            space = " " * (sizes[index] - cell_len(text))
            cells.append(space + text if column.right else text + space)
        yield _GAP.join(cells).rstrip()


def _cut(text: str, widest: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= widest else set_cell_size(text, widest - 1).rstrip() + "…"


def _compute(row: Row, places: int | None) -> str:
    used, granted = number(row, "compute_used_seconds"), number(row, "compute_granted_seconds")
    if used is None or granted is None:
        return ""
    return f"{duration(used)} / {duration(granted)}"


def _when(row: Row, places: int | None) -> str:
    try:
        return f"{datetime.fromisoformat(str(row.get('when'))).astimezone():%d %b %H:%M}"
    except ValueError:
        return ""


def _plain(key: str) -> Callable[[Row, int | None], str]:
    return lambda row, places: one_line("" if row.get(key) is None else row[key])


_COLUMNS = (
    _Column("rank", _plain("rank"), 0, right=True),
    _Column("team", _plain("team"), 2, widest=24),
    _Column("version", lambda row, places: f"v{one_line(row.get('version', '?'))}", 3),
    _Column("bits per byte", bpb_text, 1),
    _Column("used / granted", _compute, 4),
    _Column("method", _plain("note"), 5),
    _Column("when", _when, 6),
)
