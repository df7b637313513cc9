"""Judges the text of a training script, without ever importing or executing it.

`review(text)` gives a Report: verdict, findings with their exact place, and the effective configuration. The work is
done in a limited process of its own (`child.py`). What the text does to that process is a rejection with its reason;
what the host does to it is a ReviewerFault. `rules_in_force()` gives every rule in its own words.
"""

from reviewer.child import ReviewerFault, keep_ready, review
from reviewer.context import Context
from reviewer.fix import Edited, Fixed, fix
from reviewer.launch import LaunchFacts
from reviewer.policy import Policy, PolicyError
from reviewer.report import Finding, Knob, Report
from reviewer.rulebook import RuleText, rules_in_force

__all__ = [
    "Context",
    "Edited",
    "Finding",
    "Fixed",
    "Knob",
    "LaunchFacts",
    "Policy",
    "PolicyError",
    "Report",
    "ReviewerFault",
    "RuleText",
    "fix",
    "keep_ready",
    "review",
    "rules_in_force",
]
