"""What the audit quotes from a script, made fit to be stored, sent and shown.

A script can write any character as an escape, so any can stand in a folded key: half of a surrogate pair cannot be
encoded, a NUL cannot be stored, others steer a terminal or turn the reading direction. All of them are spelled out.
"""

from __future__ import annotations

import re

LONGEST = 600  # characters of one quoted line or value
_MOST_QUOTED = 160  # of them in a sentence about it
_QUOTED = re.compile("`([^`]*)`")  # short ones too: what stands between two of them is no quote

# Where an expression goes on in the next line; blanks are begun with once, for there may be thousands of them.
_BROKEN = re.compile(r",?(?<![ \t])[ \t]*(?:\n[ \t]*)+")
_UNFIT = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]"
)


def spelled(text: str) -> str:
    """Return a text as one line of bounded length that can be encoded: `⟨U+D800⟩` for what cannot be shown."""
    return clip(_fit(text[: LONGEST + 1]), LONGEST)


def told(sentence: str) -> str:
    """Return a sentence of a finding, spelled; what it quotes is shortened, so that what is said of it is read."""
    whole = _BROKEN.sub(_joined, _middled(sentence, 20 * LONGEST))
    said = _QUOTED.sub(lambda match: f"`{clip(match[1], _MOST_QUOTED)}`", _fit(whole))
    return _middled(said, LONGEST)


def _joined(match: re.Match[str]) -> str:
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    comma = "," if match[0][0] == "," else ""
    if after and after in ")]}.":
        return ""
    if before and before in "([{":
        return comma
    return f"{comma} " if match[0][-1] in " \t" else match[0]


def _fit(text: str) -> str:
    return _UNFIT.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def _middled(text: str, width: int) -> str:
    """Leave out the middle of a text that is too long."""
    return text if len(text) <= width else f"{text[: width // 2]}… {text[2 - width // 2 :]}"


def clip(line: str, width: int = 200) -> str:
    """Shorten a line for display."""
    return line if len(line) <= width else line[: width - 1] + "…"
