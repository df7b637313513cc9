"""The audits of a submission as an organizer sees them: under which policy and ruleset, and what each changed."""

from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

from leaderboard.submissions.models import Report, Submission
from leaderboard.submissions.reaudits import compare

MOST = 10
STATES = {"accept": "accepted", "review": "in_review", "reject": "rejected"}


@dataclass(frozen=True)
class Audit:
    """A report with the policy and ruleset that it is from, and the rules whose worst finding is another one since."""

    created: datetime
    state: str  # to which its verdict sends a submission
    number: int  # of the policy
    version: str  # what the policy's file calls it
    ruleset: str
    rules: list[tuple[str, str, str]]  # rule, severity then, severity now
    first: bool


def audits(submission: Submission) -> list[Audit]:
    """Return the newest audits of a submission, the newest first."""
    found = list(submission.reports.select_related("policy").order_by("-pk")[: MOST + 1])
    return [_audit(submission, report, before) for report, before in zip_longest(found, found[1:])][:MOST]


def _audit(submission: Submission, report: Report, before: Report | None) -> Audit:
    rules = compare(before.body, report.body).rules if before else {}
    return Audit(
        created=report.created,
        state=STATES.get(report.verdict, report.verdict),
        number=(report.policy or submission.policy).number,
        version=str(report.body.get("policy", "")),
        ruleset=report.ruleset,
        rules=[(rule, then, now) for rule, (then, now) in rules.items()],
        first=before is None,
    )
