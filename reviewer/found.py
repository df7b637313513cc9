"""What a rule says: a place that it found, a knob, and the edits that would repair it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from reviewer.report import Constant, Severity


@dataclass(frozen=True)
class Edit:
    """One change of a text: the source of `node` becomes `text`. A statement whose text is empty goes with its line.

    `why` is the sentence that a list of edits shows; without one it is the finding's own.
    """

    node: cst.CSTNode
    text: str
    why: str = ""


@dataclass(frozen=True)
class Found:
    """A place that a rule found: what is there, what to do, and how severe it can be at most.

    `fix`, where the rule knows a repair, works it out when it is asked for; an audit only says that there is one.
    """

    node: cst.CSTNode
    what: str
    remedy: str
    at_most: Severity = "reject"
    fix: Callable[[], Sequence[Edit]] | None = None


@dataclass(frozen=True)
class Setting:
    """A knob of the effective configuration."""

    node: cst.CSTNode
    key: str
    default: Constant
    value: Constant
