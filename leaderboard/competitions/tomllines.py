"""Where in a TOML text a key stands: the parser of the standard library keeps values, not places.

Only for messages about a text that has been parsed already, so it may be simple: it reads headers, keys and where a
value ends, and a key that it cannot place gets the line of the table around it.
"""

import re
from collections.abc import Sequence

Key = tuple[str | int, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_TOKEN = re.compile(r'''"""|\'\'\'|"(?:\\.|[^"\\])*"|'[^']*'|#.*|[\[\]{}]''')


def line_of(text: str, key: Sequence[str | int]) -> int:
    """Return the 1-based line of a key such as ("phases", 0, "budget", "seconds"), or of what is nearest around it."""
    places = _places(text)
    for length in range(len(key), 0, -1):
        if line := places.get(tuple(key[:length])):
            return line
    return 1


def _places(text: str) -> dict[Key, int]:
    places: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    depth, quote = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if depth or quote:
            depth, quote = _scan(line, depth, quote)
        elif header := _HEADER.match(line):
            table = _resolve(_parts(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            for length in range(1, len(table) + 1):
                places.setdefault(table[:length], number)
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[1]))
            for length in range(len(table) + 1, len(path) + 1):
                places.setdefault(path[:length], number)
            depth, quote = _scan(line[key.end() :], 0, "")
    return places


def _resolve(parts: Sequence[str], counts: dict[Key, int]) -> Key:
    """Turn a header's names into a key: a name of an array of tables stands for the array's last table."""
    key: Key = ()
    for index, part in enumerate(parts):
        key = (*key, part)
        if key in counts and index < len(parts) - 1:
            key = (*key, counts[key])
    return key


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Return how many brackets, and which multi-line quotation, are open behind a line of a value."""
    position = 0
    while position < len(line):
        if quote:
            end = line.find(quote, position)
            if end < 0:
                return depth, quote
            position, quote = end + 3, ""
            continue
        token = _TOKEN.search(line, position)
        if token is None:
            break
        position = token.end()
        if token[0] in ('"""', "'''"):
            quote = token[0]
        elif token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
    return depth, quote
