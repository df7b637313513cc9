"""Reads a launch command as the platform does, so that `--check` judges a script under it.

    command  = { NAME=value } launcher file.py { flag }
    launcher = "python" | "torchrun" [ "--standalone" ] [ "--nproc_per_node=N" ]

What a phase allows of that is known where a competition file is at hand; without one the platform has the last word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaderboard.cli.errors import Usage

if TYPE_CHECKING:
    from reviewer import LaunchFacts

_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_COUNT = re.compile(r"--nproc[_-]per[_-]node(?:=(.*))?")
_LAUNCHERS = ("python", "torchrun")


@dataclass(frozen=True)
class Allowed:
    """What a phase allows; None where that is not known."""

    launchers: Collection[str] = _LAUNCHERS
    processes: Collection[int] | None = None
    env: Collection[str] | None = None
    trailing: bool = True

    @classmethod
    def of(cls, table: dict[str, Any]) -> Allowed:
        """Read the `launch` table of a phase; what it does not name has the platform's default."""
        return cls(
            tuple(table.get("launchers", _LAUNCHERS)),
            tuple(table.get("processes", (1,))),
            tuple(table.get("env", ())),
            table.get("trailing") is True,
        )


def read_launch(command: str, where: str, allowed: Allowed) -> LaunchFacts:
    """Return what a launch command says. Raises Usage that begins with `where` for what cannot be meant."""
    from reviewer import LaunchFacts

    try:
        words = shlex.split(command)
    except ValueError:
        raise Usage(f"{where}: the launch command opens a quotation mark and does not close it.") from None
    env = []
    while words and (match := _SETTING.match(words[0])):
        env.append(match[1])
        words.pop(0)
    if wrong := [name for name in env if allowed.env is not None and name not in allowed.env]:
        raise Usage(f"{where}: this phase lets the launch command set no {wrong[0]}; leave it out.")
    launcher = words.pop(0) if words else ""
    if launcher not in allowed.launchers:
        raise Usage(f"{where}: the launch command starts with {' or '.join(allowed.launchers)}, not {launcher!r}.")
    processes = _processes(words, where) if launcher == "torchrun" else 1
    if allowed.processes is not None and processes not in allowed.processes:
        counts = " or ".join(map(str, allowed.processes))
        raise Usage(f"{where}: this phase allows {counts} processes, and the launch command asks for {processes}.")
    if not words or not words[0].endswith(".py"):
        raise Usage(
            f"{where}: behind the launcher comes the script, `train.py`, not {words[0] if words else 'the end'!r}."
        )
    if len(words) > 1 and not allowed.trailing:
        raise Usage(f"{where}: nothing may follow the script in this phase; write {words[1]!r} into it.")
    return LaunchFacts(launcher, processes, tuple(words[1:]), frozenset(env))


def _processes(words: list[str], where: str) -> int:
    """Take torchrun's own options away and return the number of processes."""
    count = 1
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if match := _COUNT.fullmatch(word):
            given = match[1] if match[1] is not None else (words.pop(0) if words else "")
            if not re.fullmatch(r"[1-9][0-9]{0,5}", given):
                raise Usage(f"{where}: the number of processes is a plain number, not {given!r}.")
            count = int(given)
        elif word != "--standalone":
            raise Usage(f"{where}: torchrun takes `--standalone` and `--nproc_per_node=N` here, not {word!r}.")
    return count
