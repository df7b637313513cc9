"""Several pairs of hands for work that falls into pieces, one thread each.

Torch would split every single operation among threads that meet at a barrier, and beside a model server that uses the
same cores each barrier waits for a thread that is not running. Whole pieces need no barrier, and a piece is computed by
one thread in one order wherever it lies, so the same logits give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

import torch

Item = TypeVar("Item")
Found = TypeVar("Found")


class Crew:
    """Do a piece of work for each of many items; leaves torch with one thread to an operation."""

    def __init__(self, threads: int = 1) -> None:
        torch.set_num_threads(1)
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        self._alone = threads == 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def each(self, work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Give what `work` makes of each item, in order; the first exception is raised."""
        if self._alone or len(items) < 2:
            return [work(item) for item in items]
        return list(self._pool.map(work, items))
