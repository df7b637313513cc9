"""A table as text: fits the width by dropping columns, never by wrapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
_GAP = "  "


@dataclass(frozen=True)
class Column:
    """One column; of those that do not fit together the one with the highest `keep` is dropped first."""

    title: str
    text: Callable[[Row], str]
    keep: int
    right: bool = False
    widest: int = 40


def table_lines(columns: Sequence[Column], rows: list[Row], width: int) -> Iterator[str]:
    """Yield the head and a line for each row, at most `width` cells wide as long as the first column fits at all."""
    from rich.cells import cell_len

    table = [(column, [cut(column.text(row), column.widest) for row in rows]) for column in columns]
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


def cut(text: str, widest: int) -> str:
    """Return text of at most so many cells; a cut is marked."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= widest else set_cell_size(text, widest - 1).rstrip() + "…"


def width_of_stdout() -> int:
    """Return how wide a line may be: the terminal's width, 80 where there is none."""
    import shutil
    import sys

    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
