"""`#: submit key=value` lines: a script may carry its own harmless settings, and nothing else.

The line starts in the first column and may hold several pairs, quoted as in a shell:

    #: submit competition=demo phase=open launch="torchrun --nproc_per_node=2 train.py" note="wider, 14 layers"

A script comes from anywhere, so it must not choose where it, and the user's token, are sent.
"""

from __future__ import annotations

import re
import shlex

from leaderboard.cli.errors import Usage

KEYS = ("competition", "phase", "launch", "note")
_MARK = re.compile(rb"#:[ \t]*submit(?![\w.-])")
# What is nearly such a line is told so: that a setting was not heard would be found out too late.
_NEARLY = re.compile(rb"#(:[ \t]*|[ \t]*)submit:")


def read_script_lines(script: bytes, name: str) -> dict[str, str]:
    """Return the settings written in a script.

    Raises Usage with file and line for an unknown or refused key, a key given twice, or a pair that cannot be read.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(script.splitlines(), start=1):
        where = f"{name}:{number}"
        if _NEARLY.match(line):
            raise Usage(f"{where}: settings in a script are written `#: submit key=value`; write this line so.")
        mark = _MARK.match(line)
        if not mark:
            continue
        for key, value in _pairs(line[mark.end() :].decode("utf-8", "replace"), where):
            if key in found:
                raise Usage(f"{where}: `#: submit` sets `{key}` a second time; keep one of them.")
            found[key] = value
    return found


def _pairs(text: str, where: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Usage(f"{where}: a quotation mark in this `#: submit` line is never closed.") from error
    pairs = []
    for word in words:
        key, equals, value = word.partition("=")
        if key in {"url", "token", "token_file"}:
            raise Usage(f"{where}: a script must not set `{key}`, it would choose where your token goes; remove it.")
        if not equals or key not in KEYS:
            raise Usage(f'{where}: `#: submit` takes {", ".join(KEYS)} as key=value or key="two words", not `{word}`.')
        pairs.append((key, value))
    return pairs
