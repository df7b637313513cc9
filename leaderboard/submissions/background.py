"""What an audit is told of the versions that a team has sent before."""

from typing import Any

from leaderboard.submissions.models import Report, Submission
from reviewer import Context

VERSIONS = 5  # whose knobs are counted
LOOKED_AT = 12  # reports at most; a version may have several


def context_of(submission: Submission) -> Context:
    """Return the text of the newest earlier version that the audit could read, and the knobs of the last ones.

    Knobs are counted by their keys, as the audit counts those of this version.
    """
    rows = Report.objects.filter(submission__team=submission.team_id, submission__lt=submission.pk)
    reports = rows.order_by("-submission", "-pk").values_list("submission", "body")[:LOOKED_AT]
    newest: dict[int, dict[str, Any]] = {}
    for pk, body in reports:
        newest.setdefault(pk, body)
    readable = [pk for pk, body in newest.items() if not _turned_away(body)][:VERSIONS]
    if not readable:
        return Context()
    script = Submission.objects.values_list("script", flat=True).get(pk=readable[0])
    counts = tuple(len({knob["key"] for knob in newest[pk].get("knobs", [])}) for pk in reversed(readable))
    return Context(bytes(script).decode("utf-8", "replace"), counts)


def _turned_away(body: dict[str, Any]) -> bool:
    """Tell whether the gate stopped a text, so that no rule has read it."""
    found = body.get("findings", [])
    return any(str(f.get("rule", "")).startswith("G") and f.get("severity") == "reject" for f in found)
