"""Which parts of a Python text have which colour, in time that grows with its length and no faster, whatever it says.

Scripts come from strangers, who choose what their readers' time is spent on. So this is no parser: one expression is
tried once at each place where the last match ended, each of its alternatives fails within a few characters or takes
all that it has read, and none depends on what comes after it. A text that is no Python has colours too.

    k keyword   s string   m number   c comment   f a name that is defined here, and a decorator
"""

import re
from collections.abc import Iterator
from keyword import kwlist

KEYWORDS = frozenset(kwlist)
DEFINES = frozenset({"def", "class"})
# No string's end is asked for but its quote may be missing: to look for one that never comes, from every place where
# one could begin, is what takes quadratic time.
_PART = re.compile(
    r"""
      (?P<c> \#[^\n]* )
    | (?P<s> (?:[rRuU]|[bB][rR]?|[rR][bB])?
        (?: \"{3} (?:[^"\\]+|\\.|"(?!""))* (?:\"{3})?
          | '{3}  (?:[^'\\]+|\\.|'(?!''))* (?:'{3})?
          | \"    (?:[^"\\\n]+|\\.)* \"?
          | '     (?:[^'\\\n]+|\\.)* '? ) )
    | (?P<format> (?:[fF][rR]?|[rR][fF])
        (?: \"{3} (?:[^"\\]+|\\.|"(?!""))* (?:\"{3})?
          | '{3}  (?:[^'\\]+|\\.|'(?!''))* (?:'{3})?
          | \"    (?:[^"\\\n]+|\\.)* \"?
          | '     (?:[^'\\\n]+|\\.)* '? ) )
    | (?P<m> (?: 0[xXoObB][0-9a-fA-F_]+ | (?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*) (?:[eE][+-]?[0-9_]+)? ) [jJ]? )
    | (?P<f> ^[ \t]*@[ \t]*[^\W\d][\w.]* )
    | (?P<case> ^[ \t]*(?:match|case)\b(?=[ ][\w"'({\[*-]) )
    | (?P<word> [^\W\d]\w* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_FIELD = re.compile(r"(\{\{|\}\}|\{[^{}]*\})")  # of a format string: an escaped brace, or what is put in


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text in pieces (colour, piece); "" is the colour of all that has none."""
    done, defines = 0, False
    for match in _PART.finditer(text):
        kind, piece = match.lastgroup or "", match[0]
        if kind == "word":
            kind = "k" if piece in KEYWORDS else "f" if defines else ""
            defines = piece in DEFINES
            if not kind:
                continue
        elif kind == "case":
            kind, defines = "k", False
        if match.start() > done:
            yield "", text[done : match.start()]
        done = match.end()
        if kind == "format":
            yield from _format(piece)
        else:
            yield kind, piece
    if done < len(text):
        yield "", text[done:]


def _format(piece: str) -> Iterator[tuple[str, str]]:
    """Yield a format string with the colour of strings, and what is put into it without."""
    for number, part in enumerate(_FIELD.split(piece)):
        if number % 2 and part not in ("{{", "}}"):
            yield from (("s", "{"), ("", part[1:-1]), ("s", "}"))
        elif part:
            yield "s", part
