"""What the words of a launch command give to the flags that a script declares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reviewer.environment.flag import Flag, converted
from reviewer.report import Constant

_NUMBER = re.compile(r"-\d+(\.\d*)?(e[-+]?\d+)?\Z|-\.\d+\Z")


@dataclass
class Given:
    """Values by the id of their flag, words that no flag takes, and flags that are missing."""

    values: dict[int, Constant] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    missing: list[Flag] = field(default_factory=list)


def give(flags: Sequence[Flag], args: Sequence[str]) -> Given:
    """Read words as a parser of these flags would. What is not certain is neither unknown nor missing."""
    given = Given()
    loose: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            loose += rest
            break
        if not word.startswith("-") or _NUMBER.match(word) or word == "-":
            loose.append(word)
            continue
        spelled, equals, value = word.partition("=")
        flag = _named(flags, spelled)
        if flag is None:
            given.unknown.append(word)
            while rest and not rest[0].startswith("-"):
                rest.pop(0)  # what follows a flag that nobody knows is probably its value
        elif not word.startswith("--") and len(spelled) > 2 and spelled not in flag.spellings:
            given.values[id(flag)] = converted(flag, word[2:])  # `-n3`
        elif flag.takes == 0:
            given.values[id(flag)] = not flag.default
        elif equals:
            given.values[id(flag)] = converted(flag, value)
        else:
            taken: list[str] = []
            while rest and (not rest[0].startswith("-") or _NUMBER.match(rest[0])) and len(taken) != flag.takes:
                taken.append(rest.pop(0))
            given.values[id(flag)] = converted(flag, taken[0]) if len(taken) == 1 else " ".join(taken) or True
    places = [flag for flag in flags if not flag.spellings and flag.key and not flag.whole]
    for flag, word in zip(places, loose, strict=False):
        given.values[id(flag)] = converted(flag, word)
    if not places and all(flag.takes is not None for flag in flags):
        given.unknown += loose
    given.missing = [flag for flag in flags if flag.required and id(flag) not in given.values]
    return given


def _named(flags: Sequence[Flag], word: str) -> Flag | None:
    """Return the flag of this spelling, of an abbreviation of it, or of its opposite (`--no-compile`)."""
    for flag in flags:
        if word in flag.spellings or (not word.startswith("--") and word[:2] in flag.spellings):
            return flag
    negated = re.sub(r"\A--no-?", "--", word)
    starts = (word, negated) if word.startswith("--") and len(word) > 2 else ()
    for start in starts:
        for flag in flags:
            if any(spelling.startswith(start) for spelling in flag.spellings):
                return flag
    return None
