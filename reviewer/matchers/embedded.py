"""How much of a text is data and not program: encoded strings, numbers in strings, tables, endless numbers.

The limits come from some 150 public training scripts, the packed ones left out: no string without a space had more than
250 characters and all of at least 40 together no more than 320; no table had more than 53 entries, no number more than
18 digits, and all numbers of a file together made up 2,500 characters; in scripts that train, those of four digits and
more made up 360. Each limit is at least twice that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from reviewer.matchers.remarks import find_remarks
from reviewer.script import Script

LONGEST = 512  # characters of one string that nobody can read
SHORTEST = 16  # characters from which a string counts as a piece of such a one
MOST = 1_024  # characters of all pieces of a file
TABLE = 128  # constants in one table: a schedule has a few dozen, and a table of 128 weights already says something
DIGITS = 100  # of one number; a hash of 256 bits has 78
NUMBERS = 8_192  # characters of all numbers of a file
PROSE = 24_576  # characters of strings that are no documentation and no program
LONG_NUMBERS = 4_096  # characters of all numbers of four digits and more

_DISPLAYS = (cst.List, cst.Tuple, cst.Set, cst.Dict)
_CONSTANTS = frozenset({cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.ConcatenatedString})
_NUMERIC = str.maketrans("", "", "0123456789abcdefABCDEFxX.,+-_;: \t\n\r\\'\"")
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+/=_\-~!@#$%^&*(){}|<>?`;.,\[\]:]+")
_HEX = re.compile(r"(?=.*[0-9])[0-9a-fA-F]+")
_PROGRAM = re.compile(r"__global__|#include|tl\.(?:load|store)|\bdef \w+\(|\breturn\b|\{%|\bSELECT\b|<\w+>|\(\?[:=!]")
_PLAIN = re.compile(
    r"\b(?:the|a|an|to|of|and|or|in|is|for|with|you|it|that|this|are|be|not|on|as)\b|[.:,=()]", re.IGNORECASE
)


_FOUR = 4
_SIGNIFICANT = re.compile(r"[1-9a-fA-F]|(?<=[1-9a-fA-F])0")


@dataclass(frozen=True)
class Data:
    """A place that holds data, and what to say of it."""

    node: cst.CSTNode
    what: str


def find_data(script: Script) -> Iterator[Data]:
    """Yield what a file holds beside its program."""
    yield from _strings(script)
    yield from _tables(script)
    yield from _numbers(script)
    yield from (Data(node, what) for node, what in find_remarks(script))


def _strings(script: Script) -> Iterator[Data]:
    pieces: list[cst.SimpleString] = []
    size = prose = 0
    longest: cst.SimpleString | None = None
    for node in script.tree.of(cst.SimpleString):
        text = node.value
        if len(text) < SHORTEST:
            continue
        if is_encoded(text):
            if len(text) >= LONGEST:
                yield Data(node, f"A string holds {len(text):,} characters of encoded data")
            else:
                pieces.append(node)
                size += len(text)
        elif len(text) > LONGEST and not isinstance(script.tree.parent(node), cst.Expr) and not _PROGRAM.search(text):
            prose += len(text)
            longest = node if longest is None or len(text) > len(longest.value) else longest
    if size >= MOST:
        yield Data(pieces[0], f"{len(pieces):,} strings from here on hold {size:,} characters of encoded data together")
    if prose >= PROSE and longest is not None:
        yield Data(longest, f"The strings of the file, of which this is the longest, hold {prose:,} characters of text")


def is_encoded(text: str) -> bool:
    """Tell whether a literal, as it is written, is no text that a person reads."""
    if text.count("\\x") * 8 > len(text) or text.count("\\u") * 12 > len(text):
        return True
    body = text.strip("bBrRuU'\"")
    if len(body) < SHORTEST:
        return False
    words = body.split()
    if len(words) <= 1:
        return len(body) >= LONGEST or (bool(_MIXED.fullmatch(body) or _HEX.fullmatch(body)) and not _is_name(body))
    if len(body) < LONGEST // 2:
        return False
    if len(body.translate(_NUMERIC)) * 20 < len(body):
        return True  # numbers, or hex in groups
    if max(map(len, words)) >= LONGEST // 2:
        return True
    if len(body) < 4 * LONGEST and sum(map(str.isalnum, body)) * 5 < len(body):
        return False  # a banner
    return (
        len(body) >= LONGEST
        and not _PROGRAM.search(body)
        and len(_PLAIN.findall(body[:8_192])) * 60 < len(body[:8_192])
    )


def _is_name(body: str) -> bool:
    """Tell whether this is a path, an address or a name in parts: `data/fineweb10B_sp1024`, `Linear.Q4_K`."""
    parts = re.split(r"[/_.:\-=, (){}<>]+", body)
    return max(map(len, parts)) < SHORTEST and len(body) < 128


def _tables(script: Script) -> Iterator[Data]:
    counts: dict[int, tuple[cst.CSTNode, int]] = {}
    settings: dict[int, set[str]] = {}  # rows of one table that have the same keys say each key once
    for cls in _DISPLAYS:
        for node in script.tree.of(cls):
            elements: Sequence[cst.CSTNode] = node.elements  # type: ignore[attr-defined]
            if elements and (count := _constants(elements)):
                whole = _outermost(script, node)
                if cls is cst.Dict and whole is not node:
                    keys = [k.value for k in (getattr(e, "key", None) for e in elements) if type(k) is cst.SimpleString]
                    known = settings.setdefault(id(whole), set())
                    count -= sum(key in known for key in keys)
                    known.update(keys)
                counts[id(whole)] = (whole, counts.get(id(whole), (whole, 0))[1] + count)
    for call in script.tree.of(cst.Call):
        if len(call.args) >= TABLE and (count := _constants(call.args)) >= TABLE:
            yield Data(call, f"A call is given {count:,} constants")
    for whole, count in counts.values():
        if count >= TABLE:
            yield Data(whole, f"A table holds {count:,} constants")


def _constants(elements: Sequence[cst.CSTNode]) -> int:
    count = 0
    for element in elements:
        for value in (getattr(element, "value", None), getattr(element, "key", None)):
            while type(value) is cst.UnaryOperation:
                value = value.expression
            count += type(value) in _CONSTANTS
    return count


def _outermost(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    whole = node
    for above in script.tree.ancestors(node):
        if isinstance(above, _DISPLAYS):
            whole = above
        elif not isinstance(above, cst.BaseElement | cst.BaseDictElement):
            break
    return whole


def _numbers(script: Script) -> Iterator[Data]:
    every = script.tree.both(cst.Integer, cst.Float)
    for node in every:
        if len(node.value) >= DIGITS:
            yield Data(node, f"One number has {len(node.value):,} digits")
    size = sum(len(node.value) for node in every)
    if size >= NUMBERS and size * 8 >= len(script.text):  # a long script may well have many
        yield Data(
            every[0], f"{len(every):,} numbers from here on make up {100 * size // len(script.text)} % of the file"
        )
        return
    if size < LONG_NUMBERS:
        return
    long = [node for node in every if len(node.value) >= _FOUR and len(_SIGNIFICANT.findall(node.value)) >= _FOUR]
    size = sum(len(node.value) for node in long)
    if size >= LONG_NUMBERS:
        yield Data(long[0], f"{len(long):,} numbers of four digits and more hold {size:,} characters from here on")
