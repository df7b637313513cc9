"""What a rule is: a class with its documentation, its examples and its check, in one file.

The docstring has the headings *What it looks for*, *Why it is refused*, *Do instead*. VALID and INVALID are the rule's
tests: in an INVALID text, the lines that must be found end with `# !`, or with `# ! review` or `# ! warn` where they
are found to be milder than the rule is. A text whose first line is
`# launch: torchrun 2`, with the words that follow the file's name, is judged under that launch. FIXED are pairs of a
text and what the repair of this rule makes of it. POLICY and CONTEXT are what all of them are judged under.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from reviewer.catalogue import CATALOGUE
from reviewer.context import Context
from reviewer.found import Found, Setting
from reviewer.policy import Policy
from reviewer.report import Finding, Knob
from reviewer.script import Script


class Rule(ABC):
    """Base of all rules. `check` may raise anything; the audit then asks an organizer to look."""

    code: ClassVar[str]
    VALID: ClassVar[tuple[str, ...]]
    INVALID: ClassVar[tuple[str, ...]]
    FIXED: ClassVar[tuple[tuple[str, str], ...]] = ()
    POLICY: ClassVar[Policy] = Policy()
    CONTEXT: ClassVar[Context] = Context()
    inherits: ClassVar[bool] = True  # whether what the kit's baseline has as well (`inherited.py`) is only info

    @property
    def name(self) -> str:
        """The rule's short name, as it stands in reports."""
        return CATALOGUE[self.code][0]

    @abstractmethod
    def check(self, script: Script) -> Iterable[Found | Setting]:
        """Yield what this rule finds, in any order."""

    def conclude(self, script: Script, findings: Sequence[Finding], knobs: Sequence[Knob]) -> Iterable[Found]:
        """Yield what this rule finds once the others have spoken."""
        return ()
