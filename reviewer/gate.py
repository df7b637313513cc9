"""Refuses on bytes, before any parser sees them.

The parser behind the rules is written for honest files: a few thousand nested brackets end its process, and a sum of
five thousand terms takes seconds. So size, encoding, depth and chain length (`shape.py`) are measured here by
regular expressions that cannot recurse. The text that comes out is the text that will run: no cookie, no NUL, no
control character and no lookalike letter can make the interpreter read something else than the reader sees.
"""

from __future__ import annotations

import ast
import re
import warnings

from reviewer.report import Finding
from reviewer.shape import fault_of
from reviewer.wording import clip

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
    "G016": "incomplete-report",
    "G017": "long-name",
    "G018": "leading-backslash",
}

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]|\r(?!\n)")
# Bidirectional controls, and the separators that editors show as a line end while the interpreter does not.
_HIDDEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u0085\u2028\u2029]")


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


def _shape(text: str) -> Finding | None:
    fault = fault_of(text)
    return None if fault is None else _at(text, fault.offset, fault.code, fault.message)


def _at(text: str, offset: int, code: str, message: str) -> Finding:
    line = text.count("\n", 0, offset) + 1
    return refusal(code, message, line, offset - text.rfind("\n", 0, offset), _line(text, line))


def _line(text: str, number: int) -> str:
    lines = text.split("\n")
    line = lines[number - 1] if number <= len(lines) else ""
    return clip(line.rstrip("\r"))
