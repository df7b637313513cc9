"""What organizers read to decide: who waits, what came before, what was decided by whom."""

from dataclasses import dataclass

from django.db.models import OuterRef, QuerySet, Subquery

from leaderboard.competitions.models import Competition
from leaderboard.submissions.models import Event, Report, State, Submission
from leaderboard.submissions.queries import EVENTS_AT_ONCE

ROWS = 50  # of the queue, with their scripts; the rest is counted
OTHERS = 20
VERSIONS = 50


@dataclass(frozen=True)
class Entry:
    """A submission that waits for a person, its newest report, and its team's version before it."""

    submission: Submission
    report: Report | None
    previous: Submission | None


def waiting(competition: Competition) -> QuerySet[Submission]:
    """Return what is in review, the one that waits longest first."""
    rows = Submission.objects.filter(phase__competition=competition, state=State.IN_REVIEW)
    return rows.order_by("created", "pk")


def entries(competition: Competition) -> list[Entry]:
    """Return the first of what waits, with scripts and reports, in three queries however many there are."""
    before = Submission.objects.filter(team=OuterRef("team"), pk__lt=OuterRef("pk")).order_by("-pk").values("pk")
    rows = list(waiting(competition).select_related("team", "phase").annotate(before=Subquery(before[:1]))[:ROWS])
    reports = {each.submission_id: each for each in Report.objects.filter(submission__in=rows).order_by("pk")}
    earlier = Submission.objects.in_bulk([row.before for row in rows if row.before])
    return [Entry(row, reports.get(row.pk), earlier.get(row.before)) for row in rows]


def ended(competition: Competition, state: State) -> QuerySet[Submission]:
    """Return what has lately come to an end that an organizer can take back, newest first."""
    rows = Submission.objects.filter(phase__competition=competition, state=state).defer("script")
    return rows.select_related("team", "phase").order_by("-changed")[:OTHERS]


def decisions(competition: Competition) -> QuerySet[Event]:
    """Return the newest decisions of organizers."""
    told = Event.objects.filter(
        submission__phase__competition=competition, kind="state", actor__isnull=False, data__has_key="action"
    )
    return told.select_related("actor", "submission__team").defer("submission__script").order_by("-id")[:OTHERS]


def previous(submission: Submission) -> Submission | None:
    """Return the version that the team had sent before this one, in whatever phase."""
    earlier = Submission.objects.filter(team=submission.team_id, pk__lt=submission.pk)
    return earlier.select_related("phase").order_by("-pk").first()


def versions(submission: Submission) -> QuerySet[Submission]:
    """Return what the team has sent in, newest first."""
    rows = Submission.objects.filter(team=submission.team_id).defer("script")
    return rows.select_related("phase").order_by("-pk")[:VERSIONS]


def told(submission: Submission) -> list[Event]:
    """Return the newest events of a submission, oldest first, with who was behind them."""
    rows = Event.objects.filter(submission=submission).exclude(kind="progress").select_related("actor")
    return list(rows.order_by("-id")[:EVENTS_AT_ONCE])[::-1]
