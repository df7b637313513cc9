"""Which repairs can be made together: those of one finding are made all or not at all, and none overlaps another."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass

from reviewer.repairs.edits import Change


@dataclass(frozen=True)
class Group:
    """The edits of one finding, in source order."""

    rule: str
    sentence: str
    made: tuple[Change, ...]


def fitting(groups: Iterable[Group]) -> list[Group]:
    """Keep the groups that do not overlap with an earlier one; the same change twice is one."""
    taken: list[tuple[int, int, str]] = []  # in source order; no two of them overlap
    kept: list[Group] = []
    for group in groups:
        new = [c for c in group.made if not _is_taken(taken, c)]
        if not new or any(_overlaps(taken, c) for c in new):
            continue
        for change in new:
            insort(taken, (change.start, change.end, change.text))
        kept.append(Group(group.rule, group.sentence, tuple(new)))
    return kept


def _is_taken(taken: list[tuple[int, int, str]], change: Change) -> bool:
    one = (change.start, change.end, change.text)
    at = bisect_left(taken, one)
    return at < len(taken) and taken[at] == one


def _overlaps(taken: list[tuple[int, int, str]], change: Change) -> bool:
    at = bisect_left(taken, (change.start, -1, ""))
    after = taken[at] if at < len(taken) else None
    before = taken[at - 1] if at else None
    begins = after is not None and (after[0] == change.start or after[0] < change.end)
    return begins or (before is not None and before[1] > change.start)
