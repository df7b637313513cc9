"""The code view: a script as lines of HTML, coloured and safe to show whatever the bytes are.

The whole text is coloured at once, because a string may have begun far above the line that is shown. The five colours
are styled in site.css, so the Content-Security-Policy needs no exception. A text of endless lines, which the gate would
turn away, is shown uncoloured and cut.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from django.utils.safestring import SafeString

from leaderboard.web.colours import parts
from leaderboard.web.wording import ODD

LONGEST_LINE = 2_000  # characters; beyond it a line is cut in the view, and the text is not coloured
LARGEST_TEXT = 512 * 1024
CONTEXT = 2  # lines shown above and below a finding
EXCERPT = 14  # lines of one excerpt at most
MARKUP = 2_000_000  # characters of HTML that one view shows at most; a line of odd ones has thirty for each
_BLANK = SafeString("")
_SPECIAL = re.compile(r"""[&<>"']|""" + ODD.pattern)  # what is not shown as it stands: most pieces have none of it


@dataclass(frozen=True)
class Line:
    """One line of the script: number from 1, its HTML, and whether a finding is about it."""

    number: int
    html: SafeString
    hit: bool = False


def decode(script: "bytes | memoryview[int]") -> str:
    """Return the script's text; bytes that are not UTF-8 stay visible as what they are not."""
    return bytes(script).decode("utf-8", errors="replace").removeprefix("\ufeff")


@lru_cache(maxsize=8)
def lines(text: str) -> tuple[SafeString, ...]:
    """Return the text's lines as HTML. Lines end as Python ends them: LF, CRLF or CR."""
    text = re.sub(r"\r\n?", "\n", text)
    plain = text.split("\n")
    count = len(plain) - (plain[-1] == "" and len(plain) > 1)  # what follows the last line's end is no line
    if len(text) > LARGEST_TEXT or any(len(line) > LONGEST_LINE for line in plain):
        return tuple(
            _joined([_html(line[:LONGEST_LINE] + (" …" if len(line) > LONGEST_LINE else ""), "")])
            for line in plain[:count]
        )
    done: list[SafeString] = []
    current: list[str] = []
    for colour, piece in parts(text):
        head, *more = piece.split("\n")
        current.append(_html(head, colour))
        for part in more:
            done.append(_joined(current))
            current = [_html(part, colour)]
    done.append(_joined(current))
    return tuple(done[:count])


def fitting(shown: Iterable[str], most: int) -> int:
    """Return how many lines of HTML, from the first on, one view may show: `most`, or fewer where they are long."""
    count, left = 0, MARKUP
    for html in shown:
        left -= len(html)
        if count == most or left < 0:
            break
        count += 1
    return count


def excerpt(text: str, first: int, last: int) -> list[Line]:
    """Return the lines `first` to `last` of the text, marked, with a few around them."""
    every = lines(text)
    first = min(max(first, 1), len(every))
    last = min(max(first, last), first + EXCERPT - 1)
    start, end = max(1, first - CONTEXT), min(len(every), last + CONTEXT)
    return [Line(number, every[number - 1], first <= number <= last) for number in range(start, end + 1)]


def _joined(line: list[str]) -> SafeString:
    return SafeString("".join(line)) if any(line) else _BLANK  # every part went through _html


def _html(text: str, css: str) -> str:
    if _SPECIAL.search(text):
        text = ODD.sub(lambda odd: f'<span class="odd">U+{ord(odd[0]):04X}</span>', escape(text))
    return f'<span class="{css}">{text}</span>' if css and text else text
