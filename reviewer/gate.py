"""Refuses on bytes, before any parser sees them.

The parser behind the rules is written for honest files: a few thousand nested brackets end its process, and a sum of
five thousand terms takes seconds. So size, encoding, depth and chain length are measured here with one regular
expression pass that cannot recurse. The text that comes out is the text that will run: no cookie, no NUL, no
control character and no lookalike letter can make the interpreter read something else than the reader sees.
"""

from __future__ import annotations

import ast
import re
import warnings

from reviewer.report import Finding
from reviewer.wording import clip

MAX_LINE = 65_536  # characters; packed scripts have lines of 25,000, and those are another rule's business
MAX_DEPTH = 200
MAX_CHAIN = 500

NAMES = {
    "G001": "too-large",
    "G002": "empty",
    "G003": "not-utf8",
    "G004": "encoding-cookie",
    "G005": "control-character",
    "G006": "hidden-direction",
    "G007": "lookalike-identifier",
    "G008": "long-line",
    "G009": "deep-nesting",
    "G010": "long-chain",
    "G011": "syntax-error",
    "G012": "audit-timeout",
    "G013": "audit-crashed",
    "G014": "audit-garbled",
    "G015": "too-many-findings",
}

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]|\r(?!\n)")
# Bidirectional controls, and the separators that editors show as a line end while the interpreter does not.
_HIDDEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0085\u2028\u2029]")
# Repeated groups are not possessive: before Python 3.11.5 those match wrongly where the group has alternatives.
_TOKEN = re.compile(
    r"""
    (?P<skip> \#[^\n]*+ | \\\r?\n )
  | (?P<text> \"\"\"[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*\"\"\" | '''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*'''
            | "[^"\\\n]*+(?:\\.[^"\\\n]*+)*" | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*' )
  | (?P<open> [(\[{] )
  | (?P<close> [)\]}] )
  | (?P<stop> [,;] )
  | (?P<line> \n )
  | (?P<link> \*\*|//|<<|>>|[-+*/%@&|^~<>.] | \b(?:and|or|not|in|is|if|else|for|lambda|await)\b )
  | (?P<elif> \belif\b )
    """,
    re.VERBOSE | re.DOTALL,
)


def refusal(code: str, message: str, line: int = 1, column: int = 1, snippet: str = "") -> Finding:
    """Return the finding with which the gate turns a file away."""
    return Finding(code, NAMES[code], "reject", line, column, line, message, snippet)


def check(data: bytes, max_bytes: int) -> Finding | None:
    """Return why these bytes cannot be audited, or None. Never raises and never recurses."""
    if len(data) > max_bytes:
        return refusal(
            "G001",
            f"The script has {len(data):,} bytes; this phase takes {max_bytes:,}.\nLeave out what it does not run.",
        )
    if not data.strip():
        return refusal("G002", "The file is empty.\nSend the training script itself.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return refusal("G003", f"Line {line} is not UTF-8.\nSave the file as UTF-8.", line)
    return _cookie(data) or _characters(text) or _shape(text)


def syntax_of(text: str) -> ast.Module:
    """Return the compiler's tree of a text. Raises what the compiler raises. For the limited process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, "train.py")


def uncompiled(text: str, tree: ast.Module | None = None) -> Finding | None:
    """Compile, never run: return why Python cannot read the text. Its tree, where there is one, saves a parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text if tree is None else tree, "train.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or 1
        reason = str(error.msg or "invalid syntax")
        snippet = _line(text, line)
        column = min(max(error.offset or 1, 1), len(snippet) + 1)
        return refusal(
            "G011", f"Python cannot read line {line}: {reason}.\nMake the file run first.", line, column, snippet
        )
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return refusal("G011", f"Python cannot read the file: {error or type(error).__name__}.\nMake it run first.")
    return None


def unparsed(line: int) -> Finding:
    """Return the refusal of what Python can read and the audit's parser cannot."""
    message = f"The audit cannot read line {line}, although Python can.\nWrite it more plainly."
    return refusal("G011", message, line)


def _cookie(data: bytes) -> Finding | None:
    for number, line in enumerate(data.split(b"\n", 2)[:2], start=1):
        match = _COOKIE.match(line.removeprefix(b"\xef\xbb\xbf"))
        if match and match[1].decode("ascii", "replace").lower().replace("_", "-") not in {"utf-8", "utf8"}:
            name = match[1].decode("ascii", "replace")
            return refusal("G004", f"Line {number} declares the encoding {name}.\nRemove it; files are UTF-8.", number)
    return None


def _characters(text: str) -> Finding | None:
    if match := _CONTROL.search(text):
        what = f"the control character U+{ord(match[0]):04X}"
        return _at(text, match.start(), "G005", f"There is {what} in the text.\nRemove it.")
    if text.isascii():
        return None
    if match := _HIDDEN.search(text):
        what = f"U+{ord(match[0]):04X}, which makes people read another text than Python runs"
        return _at(text, match.start(), "G006", f"There is {what}.\nWrite it as an escape, \\u{ord(match[0]):04x}.")
    return None


def _foreign(text: str, start: int, end: int) -> Finding | None:
    if text[start:end].isascii():
        return None
    where = next(i for i in range(start, end) if not text[i].isascii())
    return _at(
        text,
        where,
        "G007",
        f"`{text[where]}` (U+{ord(text[where]):04X}) stands in the code itself, where Python may fold it into another "
        "letter.\nUse ASCII letters for names; strings and comments are free.",
    )


def _shape(text: str) -> Finding | None:
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            return refusal(
                "G008", f"Line {number} has {len(line):,} characters; {MAX_LINE:,} is the limit.\nWrap it.", number
            )
    return _nesting(text)


def _nesting(text: str) -> Finding | None:
    chains = [0]  # operators so far in the expression at each open bracket
    elifs = 0
    end = 0 if not text.isascii() else -1  # where the last string or comment ended
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if end >= 0 and kind in ("skip", "text"):
            if found := _foreign(text, end, token.start()):
                return found
            end = token.end()
        if kind == "open":
            chains[-1] += 1  # a call or an index is a link of its chain, too
            chains.append(0)
            if len(chains) > MAX_DEPTH:
                return _at(text, token.start(), "G009", f"Brackets are nested {MAX_DEPTH} deep here.\nName the parts.")
        elif kind == "close":
            if len(chains) > 1:
                chains.pop()
        elif kind in ("link", "text"):
            chains[-1] += 1
        elif kind == "elif":
            elifs += 1
        elif kind == "stop" or (kind == "line" and len(chains) == 1):
            chains[-1] = 0
        if chains[-1] > MAX_CHAIN or elifs > MAX_CHAIN:
            return _at(text, token.start(), "G010", f"More than {MAX_CHAIN} operators in one chain.\nSplit it up.")
    return _foreign(text, end, len(text)) if end >= 0 else None


def _at(text: str, offset: int, code: str, message: str) -> Finding:
    line = text.count("\n", 0, offset) + 1
    return refusal(code, message, line, offset - text.rfind("\n", 0, offset), _line(text, line))


def _line(text: str, number: int) -> str:
    lines = text.split("\n")
    line = lines[number - 1] if number <= len(lines) else ""
    return clip(line.rstrip("\r"))
