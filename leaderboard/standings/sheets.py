"""A board as CSV: the same rows and numbers as its JSON, with cells that no spreadsheet takes for a formula."""

import csv
import io
from typing import Any

from leaderboard.standings.queries import Board

COLUMNS = (
    "rank",
    "team",
    "submission",
    "version",
    "bpb",
    "n",
    "ci_low",
    "ci_high",
    "ci_pooled",
    "ci_df",
    "sd",
    "compute_used_seconds",
    "compute_granted_seconds",
    "probe_power",
    "probes_drawn",
    "note",
    "when",
    "tried",
    "ledger",
    "public_rank",
    "shift",
    "outcome",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def csv_of(board: Board) -> str:
    """Return the board as CSV with a line of column names; numbers are written as in the JSON."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in board.rows:
        values = row.to_json()
        writer.writerow([cell(values[column]) for column in COLUMNS])
    return sheet.getvalue()


def cell(value: Any) -> str:
    """Return a value as text; text of people that a spreadsheet would compute gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
