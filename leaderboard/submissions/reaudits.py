"""What a later audit, under another policy or ruleset, says of what was sent before, and what follows from it.

A report is kept beside the older ones, with an Event in words for the team and a ledger entry. It moves nothing: where
it is stricter than the report before, and the submission is accepted, at work or ranked, an organizer is asked to look
at it again, and meanwhile it stays as it is. What was rejected and would not be now can be reinstated by an organizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.utils import timezone

import reviewer
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Policy
from leaderboard.ledger import services as ledger
from leaderboard.submissions import secondlook
from leaderboard.submissions.models import Event, Report, State, Submission

READ_AGAIN = frozenset(State) - {State.RECEIVED, State.AUDITING, State.WITHDRAWN}  # audited, and not taken back
OUTCOMES = {
    "accept": "the audit lets it pass",
    "review": "the audit asks an organizer",
    "reject": "the audit rejects it",
}
_ORDER = ("off", "info", "warn", "review", "reject")
_DECIDES = _ORDER.index("review")


@dataclass(frozen=True)
class Change:
    """What two reports differ in: verdicts, and the rules whose worst finding is another one; "off": there is none."""

    then: str
    now: str
    rules: dict[str, tuple[str, str]]

    @property
    def stricter(self) -> bool:
        """Whether a rule now stops it, or asks a person, that did not, or only asked, before."""
        ranks = ((_rank(then), _rank(now)) for then, now in self.rules.values())
        return any(now >= _DECIDES and now > then for then, now in ranks)


@dataclass(frozen=True)
class Kept:
    """A report that was kept: what changed, and whether an organizer is asked to look because of it."""

    report: Report
    change: Change
    look: bool


def compare(then: Mapping[str, Any], now: Mapping[str, Any]) -> Change:
    """Return what differs between the bodies of two reports; those of older rulesets may lack parts."""
    before, after = _worst(then), _worst(now)
    rules = {
        rule: (before.get(rule, "off"), after.get(rule, "off"))
        for rule in sorted(before.keys() | after.keys())
        if before.get(rule) != after.get(rule)
    }
    return Change(str(then.get("verdict", "")), str(now.get("verdict", "")), rules)


def asks_for_a_look(submission: Submission, change: Change) -> bool:
    """Return whether an organizer has to look again at a submission because of what changed."""
    return change.stricter and submission.state in secondlook.MAY_BE_REOPENED


def keep(
    submission: Submission, before: Report, found: reviewer.Report, policy: Policy, by: User | None = None
) -> Kept | None:
    """Keep a later report and ask an organizer to look where it is stricter than the one before.

    None, and nothing is written, where `before` is not the newest report any more: somebody else has read it again.
    """
    with transaction.atomic():
        locked = Submission.objects.select_for_update(no_key=True).defer("script").get(pk=submission.pk)
        newest = Report.objects.filter(submission=locked).latest()
        if newest.pk != before.pk or locked.state not in READ_AGAIN:
            return None
        report = Report.objects.create(
            submission=locked, policy=policy, verdict=found.verdict, ruleset=found.ruleset, body=found.to_json()
        )
        change = compare(newest.body, report.body)
        _tell(locked, report, change, by)
        if look := asks_for_a_look(locked, change):
            secondlook.open_because_of(report, locked, by)
        return Kept(report, change, look)


def rejected_by_audit(submission: Submission) -> bool:
    """Return whether a submission is rejected, and no organizer has done that."""
    return submission.state == State.REJECTED and submission.reason_code != "organizer"


def may_stand(submission: Submission) -> bool:
    """Return whether the audit has rejected a submission and a later audit would not have."""
    if not rejected_by_audit(submission):
        return False
    newest = Report.objects.filter(submission=submission).order_by("-pk").values_list("verdict", flat=True).first()
    return newest is not None and newest != "reject"


def standing_again(competition: Competition) -> QuerySet[Submission]:
    """Return what was rejected by the audit and passes a later one, the oldest first."""
    mine = Report.objects.filter(submission=OuterRef("pk"))
    rows = Submission.objects.filter(phase__competition=competition, state=State.REJECTED)
    rows = rows.exclude(reason_code="organizer").filter(Exists(mine.filter(policy__isnull=False)))
    rows = rows.annotate(newest=Subquery(mine.order_by("-pk").values("verdict")[:1])).exclude(newest="reject")
    return rows.select_related("team", "phase").defer("script").order_by("pk")


def _tell(submission: Submission, report: Report, change: Change, by: User | None) -> None:
    """Write the Event and the ledger entry of a report that was kept."""
    assert report.policy is not None
    number = report.policy.number
    said = f"Read again under policy {number} and ruleset {report.ruleset}: {OUTCOMES[change.now]}"
    said += ", as before." if change.now == change.then else "; it stays as it is."
    told = {"report": report.pk, "policy": number, "ruleset": report.ruleset, "verdict": change.now}
    Event.objects.create(
        submission=submission,
        at=timezone.now(),
        kind="report",
        state=submission.state,
        message=said,
        data=told,
        actor=by,
    )
    decides = {rule: worst for rule, worst in _worst(report.body).items() if _rank(worst) >= _DECIDES}
    data: dict[str, Any] = {"report": report.pk, "policy": number, "ruleset": report.ruleset, "rules": decides}
    data |= {"state": submission.state, "from": change.then, "to": change.now}
    data |= {"actor": by.pk} if by else {}
    ledger.append(kind="submission.reaudited", subject=f"submission:{submission.pk}", data=data)


def _worst(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the most severe finding of each rule."""
    found: dict[str, str] = {}
    for finding in body.get("findings") or []:
        rule, severity = str(finding.get("rule", "")), str(finding.get("severity", ""))
        if _rank(severity) > _rank(found.get(rule, "off")):
            found[rule] = severity
    return found


def _rank(severity: str) -> int:
    return _ORDER.index(severity) if severity in _ORDER else 0
