"""The code view: a script as lines of HTML, coloured by Pygments and safe to show whatever the bytes are.

Pygments reads the whole text once, because a string may have begun far above the line that is shown. Its many token
classes come down to five, styled in site.css, so the Content-Security-Policy needs no exception. A text that the
gate would turn away (not UTF-8, endless lines) is shown uncoloured: no lexer runs over what no parser may read.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType  # type: ignore[import-untyped]

from leaderboard.web.wording import ODD

LONGEST_LINE = 2_000  # characters; beyond it a line is cut in the view, and the text is not coloured
LARGEST_TEXT = 512 * 1024
CONTEXT = 2  # lines shown above and below a finding
EXCERPT = 14  # lines of one excerpt at most
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "m"),
    (Comment, "c"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
)


@dataclass(frozen=True)
class Line:
    """One line of the script: number from 1, its HTML, and whether a finding is about it."""

    number: int
    html: SafeString
    hit: bool = False


def decode(script: "bytes | memoryview[int]") -> str:
    """Return the script's text; bytes that are not UTF-8 stay visible as what they are not."""
    return bytes(script).decode("utf-8", errors="replace").removeprefix("\ufeff")


@lru_cache(maxsize=16)
def lines(text: str) -> tuple[SafeString, ...]:
    """Return the text's lines as HTML. Lines end as Python ends them: LF, CRLF or CR."""
    plain = re.split(r"\r\n|\r|\n", text)
    count = len(plain) - (plain[-1] == "" and len(plain) > 1)  # what follows the last line's end is no line
    if len(text) > LARGEST_TEXT or any(len(line) > LONGEST_LINE for line in plain):
        return tuple(
            _html(line[:LONGEST_LINE] + (" …" if len(line) > LONGEST_LINE else ""), "") for line in plain[:count]
        )
    done: list[SafeString] = []
    current: list[str] = []
    for token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        head, *more = value.split("\n")
        current.append(_html(head, _class(token)))
        for part in more:
            done.append(_joined(current))
            current = [_html(part, _class(token))]
    done.append(_joined(current))
    return tuple(done[:count])


def excerpt(text: str, first: int, last: int) -> list[Line]:
    """Return the lines `first` to `last` of the text, marked, with a few around them."""
    every = lines(text)
    first = min(max(first, 1), len(every))
    last = min(max(first, last), first + EXCERPT - 1)
    start, end = max(1, first - CONTEXT), min(len(every), last + CONTEXT)
    return [Line(number, every[number - 1], first <= number <= last) for number in range(start, end + 1)]


def _class(token: _TokenType) -> str:
    return next((name for kind, name in _CLASSES if token in kind), "")


def _joined(parts: list[str]) -> SafeString:
    return mark_safe("".join(parts))  # noqa: S308 - every part went through _html


def _html(text: str, css: str) -> SafeString:
    if not text:
        return mark_safe("")
    shown = ODD.sub(lambda odd: f'<span class="odd">U+{ord(odd[0]):04X}</span>', str(escape(text)))
    return mark_safe(f'<span class="{css}">{shown}</span>' if css else shown)  # noqa: S308 - escaped on the line above
