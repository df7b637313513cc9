"""Under what `--check` judges a script: a policy, and the command that starts it.

The command is what the command line names, else the script's own `#: submit launch=…`, else the default of the phase
in the competition file of `--policy`. Where none is known, what depends on it is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard.cli.errors import Usage
from leaderboard.cli.launchline import Allowed, read_launch

if TYPE_CHECKING:
    from reviewer import LaunchFacts, Policy

_DEFAULT = "python train.py"


@dataclass(frozen=True)
class Terms:
    """A policy, and what the file that it comes from says beside it."""

    file: Path | None = None
    policy: Policy | None = None
    slug: str | None = None
    phases: list[dict[str, Any]] = field(default_factory=list)

    def launch(self, name: str, flags: Mapping[str, str | None], lines: Mapping[str, str]) -> LaunchFacts | None:
        """Return how this script is started. Raises Usage where script, flags and file do not go together."""

        def said(key: str) -> str | None:
            return flags.get(key) or lines.get(key)

        contest = said("competition")
        if contest and self.slug and contest != self.slug:
            raise Usage(
                f"{name} is for the competition {contest}, and {self.file} is {self.slug}; name the other file."
            )
        phase = self._phase(name, said("phase"))
        table = phase.get("launch", {}) if phase is not None else {}
        allowed = Allowed() if phase is None else Allowed.of(table)
        if command := said("launch"):
            return read_launch(command, "--launch" if flags.get("launch") else name, allowed)
        return None if phase is None else read_launch(str(table.get("default", _DEFAULT)), str(self.file), allowed)

    def _phase(self, name: str, slug: str | None) -> dict[str, Any] | None:
        """Return the phase that is named, else the one that is open, else the first."""
        if not self.phases:
            return None
        if slug is None:
            now = datetime.now(UTC)
            return next((phase for phase in self.phases if _is_open(phase, now)), self.phases[0])
        for phase in self.phases:
            if phase.get("slug") == slug:
                return phase
        known = ", ".join(str(phase.get("slug")) for phase in self.phases)
        raise Usage(f"{name} is for the phase {slug}, and {self.file} has {known}; name one of them with --phase.")


def read_terms(path: Path | None) -> Terms:
    """Read a competition file, or a policy table alone. Raises Usage with the place that is wrong."""
    if path is None:
        return Terms()
    from reviewer.policy import PolicyError
    from reviewer.policyfile import policy_in, read_toml

    try:
        table = read_toml(path)
        policy = policy_in(table, path)
    except PolicyError as error:
        sentence = str(error).rstrip(".")
        raise Usage(f"{sentence}." if str(path) in sentence else f"{path}: {sentence}.") from error
    slug, phases = table.get("slug"), table.get("phases", [])
    return Terms(
        path,
        policy,
        slug if isinstance(slug, str) else None,
        [p for p in phases if isinstance(p, dict)] if isinstance(phases, list) else [],
    )


def _is_open(phase: Mapping[str, Any], now: datetime) -> bool:
    opens, closes = phase.get("opens"), phase.get("closes")
    aware = isinstance(opens, datetime) and isinstance(closes, datetime) and opens.tzinfo and closes.tzinfo
    return bool(aware) and opens <= now < closes  # type: ignore[operator]
