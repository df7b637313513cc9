"""The repaired text of a script, from the limited process that also audits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reviewer.catalogue import CATALOGUE
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
    """The text after every certain repair, the edits in source order, and what an audit finds in the new text.

    `also` are the rules whose findings were to be repaired although they stop nothing.
    """

    text: str
    edits: tuple[Edited, ...]
    remaining: tuple[Finding, ...]
    also: frozenset[str] = frozenset()

    @property
    def more(self) -> dict[str, int]:
        """How many findings of each rule could be repaired as well, if that were asked for."""
        left = (f for f in self.remaining if f.fixable and f.severity in ("warn", "info") and not f.inherited)
        return dict(sorted(Counter(f.rule for f in left if f.rule not in self.also).items()))

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts and lists, ready for `json.dumps`."""
        return {**asdict(self), "also": sorted(self.also), "more": self.more}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fixed:
        """Read `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        edits = tuple(Edited(**one) for one in data["edits"])
        text = data["text"]
        if not isinstance(text, str):
            raise TypeError("the text is none")
        return cls(text, edits, tuple(Finding(**one) for one in data["remaining"]), frozenset(data["also"]))


def fix(
    text: str | bytes,
    policy: Policy | None = None,
    *,
    launch: LaunchFacts | None = None,
    also: Collection[str] = (),
    isolated: bool = True,
) -> Fixed:
    """Repair what stops a script under its policy and can be repaired with certainty; every other byte stays.

    A repair freezes settings to the value that the platform would have used and takes out what only evaluation does;
    it never changes what training computes. What is only a warning or a note is left alone, unless its rule is named
    in `also`: H701 makes a missing package stop the run, H704 takes away a seed. A text that cannot be read comes back
    as it is, with the findings that say so. Raises ReviewerFault where this host is in no state to audit, ValueError
    for a rule that there is not.
    """
    from reviewer.child import answer

    if unknown := sorted(set(also) - CATALOGUE.keys()):
        raise ValueError(f"there is no rule {unknown[0]!r}")
    return answer(text, policy or Policy(), launch, also, isolated=isolated)
