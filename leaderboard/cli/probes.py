"""What a scored model's probes said, in a line: how much was asked again, and whether anything differed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leaderboard.cli.answers import Submission, maybe, number
from leaderboard.cli.words import one_line


def probe_lines(submission: Submission) -> Iterator[str]:
    """Yield one line for each probed run. Raises BadAnswer."""
    for table in submission.probes:
        run = number(table, "run")
        which = f" of run {run + 1:.0f}" if run is not None and len(submission.runs) > 1 else ""
        asked = maybe(table, "asked", dict) or {}
        strict, repeat = (number(asked, kind) or 0 for kind in ("strict", "repeat"))
        parts = [
            f"{strict:,.0f} position{'' if strict == 1 else 's'} asked with the text after them replaced",
            f"{repeat:,.0f} row{'' if repeat == 1 else 's'} asked in other company",
        ]
        yield one_line(f"probes{which}: {', '.join(parts)}; {_verdict(table)}")


def _verdict(table: dict[str, Any]) -> str:
    said = maybe(table, "verdict", str)
    return {"clean": "clean", "breach": "breach"}.get(said or "", one_line(said or "no verdict"))
