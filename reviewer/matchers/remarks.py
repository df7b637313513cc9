"""Data where no program looks: in comments, in docstrings, in the blank space at the ends of lines.

Nobody can use them but by reading the script's own text or its `__doc__`; so what reads as prose counts only where the
script does that. What no person reads counts anyway: there is no other reason to keep it there.
The largest of some 150 public scripts had 11,000 characters of comments and 19,000 of docstrings, 24 of blank space at
the ends of its lines, and no comment in hex but a hash or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.matchers.own_text import find_own_reads
from reviewer.script import Script

WRITTEN = 24_576  # characters of comments, or of docstrings, in a script that reads its own text
TOLD = 8_192  # of docstrings in a script that reads a `__doc__`
CODED = 1_024  # characters of comments that nobody can read, and of blank space
SHORTEST = 16  # of one such comment, or of one stretch of blank space
RUN = 256  # characters without a space in one comment; addresses are shorter

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+/=_-]+")
_UPPER = re.compile(r"(?=[^2-7]*[2-7])[A-Z2-7=]+")
_NUMBERS = "-+0123456789.,;:eExX \t"  # stripped, not matched: a pattern with two ends takes the square of a line


def find_remarks(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield what is kept there, each kind once, and how to say it."""
    lines = script.text.split("\n")
    comments = [line.partition("#")[2] for line in lines]
    yield from _coded(script, comments)
    yield from _blank(script, lines)
    written = sum(map(len, comments))
    asked = _asked_for(script)
    told = sum(len(text.value) for text in _docstrings(script)) if asked or len(script.text) >= WRITTEN else 0
    if told >= TOLD and asked is not None:
        yield asked, f"The script reads its docstrings here, which hold {told:,} characters"
    elif max(told, written) >= WRITTEN and (own := next(find_own_reads(script), None)) is not None:
        where = "comments" if written >= told else "docstrings"
        yield own, f"The script reads its own text here, whose {where} hold {max(told, written):,} characters"


def _coded(script: Script, comments: list[str]) -> Iterator[tuple[cst.CSTNode, str]]:
    coded = first = 0
    is_long = False
    for number, comment in enumerate(comments, start=1):
        body = comment.strip("#:!| \t\r")
        if len(body) < SHORTEST:
            continue
        longest = max(map(len, body.split()))
        if longest >= RUN or _is_coded(body):
            is_long |= longest >= RUN
            first = first or number
            coded += len(body)
    if coded >= CODED or is_long:
        yield script.tree.module, f"The comments from line {first} on hold {coded:,} characters of data"


def _blank(script: Script, lines: list[str]) -> Iterator[tuple[cst.CSTNode, str]]:
    blank = 0
    for line in (each.rstrip("\r") for each in lines):
        text = line.rstrip()
        stretch = len(line) - len(text)
        if stretch >= SHORTEST and (text or (" " in line and "\t" in line)):
            blank += stretch
    if blank >= CODED:
        yield script.tree.module, f"The ends of lines hold {blank:,} characters of blank space"


def _is_coded(body: str) -> bool:
    """Tell whether a comment is hex, base 64 or 32, or nothing but numbers."""
    words = body.split()
    if max(map(len, words)) < SHORTEST:
        return len(body) >= 2 * SHORTEST and not body.strip(_NUMBERS) and any(map(str.isdigit, body))
    return all(any(map(str.isdigit, w)) and any(p.fullmatch(w) for p in (_HEX, _MIXED, _UPPER)) for w in words)


def _docstrings(script: Script) -> Iterator[cst.SimpleString]:
    for text in script.tree.of(cst.SimpleString):
        if len(text.value) >= SHORTEST and isinstance(script.tree.parent(text), cst.Expr):
            yield text


def _asked_for(script: Script) -> cst.CSTNode | None:
    """Return where a `__doc__` is read that is more than the help of a command line."""
    for mention in script.mentions.get("__doc__", ()):
        above = script.tree.parent(mention)
        node = above if isinstance(above, cst.Attribute) and above.attr is mention else mention
        arg = script.tree.parent(node)
        word = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
        if word not in ("description", "epilog", "usage", "help") and not isinstance(arg, cst.AssignTarget):
            return node
    for _, call in script.calling(("inspect.getdoc", "inspect.getcomments", "pydoc.getdoc")):
        return call
    return None
