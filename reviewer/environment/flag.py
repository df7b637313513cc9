"""One flag of a launch command, and what a word makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.report import Constant

_CONVERSIONS: dict[str, Any] = {"int": int, "float": float, "str": str}


@dataclass(frozen=True)
class Flag:
    """One setting: where it is declared, how it is given, and what it is without being given.

    `key` is empty where only the run knows it; `default` is UNKNOWN likewise. `spellings` are the flags that give it.
    """

    node: cst.CSTNode
    key: str = ""
    default: Any = UNKNOWN
    spellings: tuple[str, ...] = ()
    required: bool = False
    takes: int | None = 1  # how many words follow the flag; None where that is not known
    convert: str = ""
    whole: bool = False  # a parser whose flags cannot be listed
    more: str = ""  # how one flag can give more than one plain value


def converted(flag: Flag, word: str) -> Constant:
    """Return the value that a word of the command becomes."""
    try:
        value: Constant = _CONVERSIONS.get(flag.convert, str)(word)
    except (ValueError, OverflowError):
        return word
    return value


def default_of(flag: Flag) -> Constant:
    """Return a default as the script will see it; None where it is not a constant."""
    value = flag.default
    if value is UNKNOWN or not isinstance(value, Constant):
        return str(value) if isinstance(value, list) else None
    return converted(flag, value) if isinstance(value, str) and flag.convert else value
