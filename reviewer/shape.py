"""Measures lines, brackets and chains of operators without a parser and without recursion.

Theory of operation. A chain of operators ends where a statement does: at a comma, a semicolon, or the end of a line
outside of brackets. One regular expression finds every token that counts, but it tries each letter of the text, and
that costs as much as a tenth of the parse. So a first pass looks only at brackets, strings, comments and ends of
lines, and cuts the text into stretches that end outside of brackets. A stretch with fewer characters than a chain
may have operators cannot hold too long a chain, nor too long a name; only the others are measured token by token.
Names are measured because patterns that look into them can need the square of their length; a hexadecimal number may
be long, since whole scripts are packed into one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_LINE = 65_536  # characters; packed scripts have lines of 25,000, and those are another rule's business
MAX_DEPTH = 200
MAX_CHAIN = 500


class Fault(NamedTuple):
    """What is wrong with a text, where, and under which code."""

    offset: int
    code: str
    message: str


# Repeated groups are not possessive: before Python 3.11.5 those match wrongly where the group has alternatives.
_STRING = r"""
    \"\"\"[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*\"\"\" | '''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*'''
  | "(?!"")[^"\\\n]*+(?:\\\r?.[^"\\\n]*+)*" | '(?!'')[^'\\\n]*+(?:\\\r?.[^'\\\n]*+)*'
"""
_SKIP = r"\#[^\n]*+ | \\\r?\n"
# The first string without an end ends the search: each of them would be looked for through the rest of the text.
_ENDLESS = ("G011", "A string begins here and has no end.\nClose it, or make the file run first.")
_QUIET = re.compile(f"(?P<skip> {_SKIP}) | (?P<text> {_STRING})", re.VERBOSE | re.DOTALL)
_MARK = re.compile(r"""["'#\\()\[\]{}\n]""")
_TOKEN = re.compile(
    rf"""
    (?P<skip> {_SKIP} )
  | (?P<text> {_STRING} )
  | (?P<endless> ["'] )
  | (?P<open> [(\[{{] )
  | (?P<close> [)\]}}] )
  | (?P<stop> [,;] )
  | (?P<line> \n )
  | (?P<link> \*\*|//|<<|>>|[-+*/%@&|^~<>.] | \b(?:and|or|not|in|is|if|else|for|lambda|await)\b )
  | (?P<elif> \belif\b )
  | (?P<word> \b(?!0[xX])\w{{{MAX_CHAIN + 1}}} )
    """,
    re.VERBOSE | re.DOTALL,
)


def fault_of(text: str) -> Fault | None:
    """Return the first thing that the parser could not bear, or that is not ASCII outside of strings and comments."""
    if found := _long_line(text):
        return found
    if text.count("elif") > MAX_CHAIN and (found := _measure(text, 0, len(text))):
        return found
    return _stretches(text)[0]


def logical_lines(text: str) -> list[tuple[int, int]]:
    """Return where each logical line of a text without faults begins, and where its code ends, as offsets.

    Lines without code are left out. What stands behind a semicolon or a colon is of the same line.
    """
    lines = []
    for start, end in _stretches(text)[1]:
        code = text[start:end]
        if bare := code.strip(" \t\r\n\f"):
            begin = start + code.index(bare[0])
            lines.append((begin, begin + len(bare)))
    return lines


def _long_line(text: str) -> Fault | None:
    at = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            message = f"Line {number} has {len(line):,} characters; {MAX_LINE:,} is the limit.\nWrap it."
            return Fault(at, "G008", message)
        at += len(line) + 1
    return None


@lru_cache(maxsize=1)  # the audit asks for the lines of the text that the gate has just let through
def _stretches(text: str) -> tuple[Fault | None, list[tuple[int, int]]]:
    """Return the first fault, and every stretch, without the comment at its end."""
    lines: list[tuple[int, int]] = []
    return _measured(text, lines), lines


def _measured(text: str, lines: list[tuple[int, int]]) -> Fault | None:
    plain, size = text.isascii(), len(text)
    search, quiet = _MARK.search, _QUIET.match
    at = start = depth = 0  # here, and where this stretch began
    silent = 0  # characters of this stretch that are no operators
    end = 0  # where the last string or comment ended
    tail = -1  # where the last comment outside of brackets began
    while mark := search(text, at):
        here, at = mark.start(), mark.end()
        sign = text[here]
        if sign == "\n":
            if depth == 0:
                if here - start - silent > MAX_CHAIN and (found := _measure(text, start, at)):
                    return found
                lines.append((start, tail if tail >= start else here))
                start, silent = at, 0
        elif sign in "([{":
            depth += 1
            if depth >= MAX_DEPTH:
                return _measure(text, start, size)
        elif sign in ")]}":
            depth -= depth > 0
        elif token := quiet(text, here):
            if not plain and (found := _foreign(text, end, here)):
                return found
            if sign == "\\" and depth == 0 and not text[start:here].strip():
                return Fault(here, "G018", "A line begins with a backslash here.\nTake it out.")
            at = end = token.end()
            if sign == "#" and depth == 0:
                tail = here
            silent += at - here - (token.lastgroup == "text")
        elif sign != "\\":
            return Fault(here, *_ENDLESS)
    lines.append((start, tail if tail >= start else size))
    if size - start - silent > MAX_CHAIN and (found := _measure(text, start, size)):
        return found
    return None if plain else _foreign(text, end, size)


def _measure(text: str, start: int, end: int) -> Fault | None:
    """Count brackets and operators of a part of the text that begins outside of brackets, token by token."""
    chains = [0]  # operators so far in the expression at each open bracket
    elifs = 0
    for token in _TOKEN.finditer(text, start, end):
        kind = token.lastgroup
        if kind == "endless":
            return Fault(token.start(), *_ENDLESS)
        if kind == "open":
            chains[-1] += 1  # a call or an index is a link of its chain, too
            chains.append(0)
            if len(chains) > MAX_DEPTH:
                return Fault(token.start(), "G009", f"Brackets are nested {MAX_DEPTH} deep here.\nName the parts.")
        elif kind == "close":
            if len(chains) > 1:
                chains.pop()
        elif kind in ("link", "text"):
            chains[-1] += 1
        elif kind == "elif":
            elifs += 1
        elif kind == "word":
            message = f"A name or number has more than {MAX_CHAIN} characters here.\nGive it a short name."
            return Fault(token.start(), "G017", message)
        elif kind == "stop" or (kind == "line" and len(chains) == 1):
            chains[-1] = 0
        if chains[-1] > MAX_CHAIN or elifs > MAX_CHAIN:
            return Fault(token.start(), "G010", f"More than {MAX_CHAIN} operators in one chain.\nSplit it up.")
    return None


def _foreign(text: str, start: int, end: int) -> Fault | None:
    if text[start:end].isascii():
        return None
    where = next(i for i in range(start, end) if not text[i].isascii())
    message = (
        f"`{text[where]}` (U+{ord(text[where]):04X}) stands in the code itself, where Python may fold it into another "
        "letter.\nUse ASCII letters for names; strings and comments are free."
    )
    return Fault(where, "G007", message)
