"""What is known of a script beside its text: the versions that its team sent before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Context:
    """The text of the team's previous version, and how many knobs each of its last versions had, oldest first."""

    previous: str | None = None
    knob_counts: tuple[int, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        return {"previous": self.previous, "knob_counts": list(self.knob_counts)}

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Context:
        """Read `to_mapping`. Raises ValueError for anything else."""
        previous, counts = table.get("previous"), table.get("knob_counts", [])
        if previous is not None and not isinstance(previous, str):
            raise ValueError("previous is a text or null")
        if not isinstance(counts, list | tuple) or not all(type(n) is int and n >= 0 for n in counts):
            raise ValueError("knob_counts is a list of whole numbers from 0")
        return cls(previous, tuple(counts))
