"""What a Report says beside its findings, each as plain data: drift, sections, claims, inner texts, reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["byte-identical", "ast-identical", "changed"]


@dataclass(frozen=True)
class Drift:
    """What changed since the team's previous version. Names are in source order."""

    knobs_before: int
    knobs_now: int
    knobs_added: tuple[str, ...]
    knobs_removed: tuple[str, ...]
    functions_added: tuple[str, ...]
    functions_removed: tuple[str, ...]
    functions_changed: tuple[str, ...]
    sections_changed: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A frozen section and the accepted baseline that it equals; with `changed`, the newest, which it differs from."""

    name: str
    grade: Grade
    baseline: str


@dataclass(frozen=True)
class Claim:
    """What a docstring or a comment says of the file, and the rules that find otherwise."""

    line: int
    about: str
    text: str
    contradicted_by: tuple[str, ...]


@dataclass(frozen=True)
class Inner:
    """A text that the file carries packed; layer 1 is the outermost."""

    layer: int
    sha256: str
    text: str


@dataclass(frozen=True)
class Reached:
    """A function that can run once `load_for_eval` does, with the line where it is defined."""

    name: str
    line: int
