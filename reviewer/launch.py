"""What is known of how a script will be started, for the rules that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LaunchFacts:
    """A launch command after the phase's grammar: `args` follow the file's name, `env` are the names that it sets."""

    launcher: str = "python"
    processes: int = 1
    args: tuple[str, ...] = ()
    env: frozenset[str] = frozenset()

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> LaunchFacts:
        """Read a parsed launch: `launcher`, `processes`, `args`, and `env`, a table or a list of names.

        Raises ValueError where one of them is missing or of another kind; more than these is not read.
        """
        if missing := {"launcher", "processes", "args", "env"}.difference(spec):
            raise ValueError(f"a launch has launcher, processes, args and env; missing: {', '.join(sorted(missing))}")
        launcher, processes, args, env = (spec[key] for key in ("launcher", "processes", "args", "env"))
        if not isinstance(launcher, str) or type(processes) is not int or processes < 1:
            raise ValueError("launcher is a text, and processes a whole number from 1")
        if isinstance(args, str) or not all(isinstance(word, str) for word in (*args, *env)):
            raise ValueError("args and env are lists of texts")
        return cls(launcher, processes, tuple(args), frozenset(env))

    def to_mapping(self) -> dict[str, Any]:
        """Return the table that `of` reads."""
        return {
            "launcher": self.launcher,
            "processes": self.processes,
            "args": list(self.args),
            "env": sorted(self.env),
        }
