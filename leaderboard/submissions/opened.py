"""What strangers read of a report once a phase opens its findings: nothing of other versions, and no closed source."""

from __future__ import annotations

from typing import Any

# These rules speak of the team's versions before, which nobody else may know.
_OF_OTHER_VERSIONS = frozenset({"K105", "F802"})
_SAYING = ("rule", "name", "severity", "line", "column", "end_line", "end_column", "fixable", "view", "inherited")
_CLOSED = "What it says quotes the script, which is not open."
_EMPTY: dict[str, Any] = {"knobs": [], "claims": [], "calls": [], "unpacked": []}


def opened(report: dict[str, Any], *, with_source: bool) -> dict[str, Any]:
    """Return a report as everybody may read it; without the source, findings say their rule and place alone.

    Messages quote names, values and lines of the script, and so do its knobs, its claims and what it calls.
    """
    findings = [f for f in report.get("findings", []) if f.get("rule") not in _OF_OTHER_VERSIONS]
    kept = {**report, "drift": None, "findings": findings}
    if with_source:
        return kept
    bare = [{key: f[key] for key in _SAYING if key in f} | {"message": _CLOSED, "snippet": ""} for f in findings]
    return kept | {key: value for key, value in _EMPTY.items() if key in report} | {"findings": bare}
