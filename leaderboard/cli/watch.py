"""Watching a submission: however it ends, the display is closed, and whoever interrupts it learns the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leaderboard.cli.errors import Interrupted
from leaderboard.cli.show import Show


@dataclass
class Watch:
    """Which submission is watched; None before the server has confirmed it."""

    number: int | None = None


@contextmanager
def watching(show: Show, number: int | None = None) -> Iterator[Watch]:
    """Close `show` at the end. Raises Interrupted for Ctrl-C."""
    watch = Watch(number)
    try:
        yield watch
    except KeyboardInterrupt as error:
        raise _interrupted(watch.number) from error
    finally:
        show.close()


def _interrupted(number: int | None) -> Interrupted:
    if number is None:
        return Interrupted("Interrupted before the server confirmed the script; `submit list` shows if it is there.")
    return Interrupted(
        f"Stopped watching; submission {number} goes on. `submit status {number}` shows it, with --wait follows it.",
        data={"submission": number},
    )
