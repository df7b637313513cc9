"""An audit's report as it is kept, and the sentence that it comes down to."""

import re
from typing import Any, TypedDict

from reviewer import Report

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class Reason(TypedDict):
    """A code for programs and one sentence for people."""

    code: str
    reason: str


def reason(report: Report) -> Reason:
    """Return rule and sentence of the first finding that decided the verdict, and how many others there are."""
    severity = "reject" if report.verdict == "reject" else "review"
    deciding = [finding for finding in report.findings if finding.severity == severity]
    first = deciding[0]
    sentence = f"{first.rule} {first.name}, line {first.line}: {' '.join(first.message.split())}"
    others = len(deciding) - 1
    if others:
        sentence += f" (and {others} more {'finding' if others == 1 else 'findings'})"
    return {"code": first.rule, "reason": kept(sentence)}


def kept(value: Any) -> Any:
    """Return a report's JSON with U+FFFD for what not every database keeps in a text: NUL, and halves of characters.

    A script may well spell such constants, and its report quotes them.
    """
    if isinstance(value, str):
        return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {kept(key): kept(item) for key, item in value.items()}
    return [kept(item) for item in value] if isinstance(value, list | tuple) else value
