"""The repaired text of a script, from the limited process that also audits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reviewer.launch import LaunchFacts
from reviewer.policy import Policy
from reviewer.report import Finding


@dataclass(frozen=True)
class Edited:
    """One place that a repair changed: `line` of the text as it was given, what stood there, and what does now."""

    rule: str
    line: int
    before: str
    after: str
    sentence: str


@dataclass(frozen=True)
class Fixed:
    """The text after every certain repair, the edits in source order, and what an audit finds in the new text."""

    text: str
    edits: tuple[Edited, ...]
    remaining: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts and lists, ready for `json.dumps`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fixed:
        """Read `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        edits = tuple(Edited(**one) for one in data["edits"])
        text = data["text"]
        if not isinstance(text, str):
            raise TypeError("the text is none")
        return cls(text, edits, tuple(Finding(**one) for one in data["remaining"]))


def fix(
    text: str | bytes,
    policy: Policy | None = None,
    *,
    launch: LaunchFacts | None = None,
    isolated: bool = True,
) -> Fixed:
    """Repair what can be repaired with certainty; every other byte stays.

    A repair freezes settings to the value that the platform would have used and takes out what only evaluation does;
    it never changes what training computes. A text that cannot be read comes back as it is, with the findings that
    say so. Raises ReviewerFault where this host is in no state to audit.
    """
    from reviewer.child import answer

    return answer(text, policy or Policy(), launch, isolated=isolated)
