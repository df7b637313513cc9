"""The rows of a board: the one source for page, JSON, CSV and command line.

A team stands with its best public mean. Order: exact mean, then fewer source bytes, then earlier. What is shown is
rounded to the phase's step, interval and spread with it: an exact number would carry more than a score.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db.models import Count, F, FloatField, IntegerField, OuterRef, QuerySet, Subquery, Sum, Window
from django.db.models.functions import Cast, Coalesce, Length, RowNumber
from django.utils import timezone

from leaderboard.competitions.models import Phase
from leaderboard.standings.intervals import Pool, interval_of
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.queries import submission_json as without_standing
from leaderboard.submissions.visibility import Viewer


@dataclass(frozen=True)
class Row:
    """A team's standing. Bits per byte and seconds; `tried` counts the versions its team sent in."""

    rank: int
    team: str
    submission: int
    version: int
    bpb: float
    n: int
    ci_low: float | None
    ci_high: float | None
    ci_pooled: bool
    ci_df: int | None
    sd: float | None
    compute_used_seconds: float | None
    compute_granted_seconds: float
    note: str
    when: datetime
    tried: int

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "when": self.when.isoformat()}


@dataclass(frozen=True)
class Board:
    """A phase's rows in order, as of a moment; `digits` is how many decimals its rounding step shows."""

    competition: str
    phase: str
    as_of: datetime
    rounding: float
    digits: int
    advance: int
    rows: list[Row]

    def to_json(self) -> dict[str, Any]:
        return {
            "competition": self.competition,
            "phase": self.phase,
            "as_of": self.as_of.isoformat(),
            "rounding": self.rounding,
            "digits": self.digits,
            "advance": self.advance,
            "rows": [row.to_json() for row in self.rows],
        }


def board(phase: Phase, *, at: datetime | None = None) -> Board:
    """Return the public board of a phase as of `at` (default now), in one query."""
    as_of = at or timezone.now()
    rules = phase.rules
    found = _entries(phase, as_of)
    return Board(
        competition=phase.competition.slug,
        phase=phase.slug,
        as_of=as_of,
        rounding=rules.rounding,
        digits=digits_of(rules.rounding),
        advance=rules.advance,
        rows=[_row(rank, entry, phase) for rank, entry in enumerate(found.filter(place_in_team=1), start=1)],
    )


def row_of(submission: Submission) -> tuple[Row, bool] | None:
    """Return a ranked version's own numbers under its team's rank, and whether it is the one its team stands with."""
    if submission.state != State.RANKED:
        return None
    rank = 0
    for entry in _entries(submission.phase, timezone.now()):
        rank += entry["place_in_team"] == 1
        if entry["team"] == submission.team_id and entry["place_in_team"] == 1:
            team_rank = rank  # a team's best comes before its others
        if entry["pk"] == submission.pk:
            return _row(team_rank, entry, submission.phase), entry["place_in_team"] == 1
    return None


def submission_json(user: Viewer, submission: Submission) -> dict[str, Any]:
    """Return a submission as `user` may see it, with its standing: what page and API show."""
    found = row_of(submission)
    standing = None
    if found:
        row, stands = found
        standing = {**row.to_json(), "rounding": submission.phase.rules.rounding, "stands": stands}
    return without_standing(user, submission, standing=standing)


def digits_of(step: float) -> int:
    """Return how many decimals a rounding step shows: 3 for 0.001."""
    exponent = Decimal(repr(step)).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def rounded(value: float, step: float, *, up: bool = False) -> float:
    """Return `value` as a multiple of `step`, the nearest one or the next above."""
    unit = Decimal(repr(step))
    whole = (Decimal(repr(value)) / unit).to_integral_value(ROUND_CEILING if up else ROUND_HALF_EVEN)
    return float(whole * unit)


def _entries(phase: Phase, at: datetime) -> "QuerySet[Any, Any]":
    """Return all ranked entries in order, each with its place in its team and the sums behind the pooled spread.

    Windows are computed over all of them before a filter on `place_in_team` drops the lesser ones.
    """
    sent = Submission.objects.filter(phase=phase, team=OuterRef("team"), created__lte=at)
    tried = sent.order_by().values("team").annotate(count=Count("pk")).values("count")
    charged = Submission.objects.filter(pk=OuterRef("pk")).annotate(used=Sum("runs__charged_seconds")).values("used")
    freedom = Cast(F("n_scores") - 1, FloatField())
    return (
        Submission.objects.filter(phase=phase, state=State.RANKED, ranked_at__lte=at)
        .annotate(
            source_bytes=Length("script"),
            place_in_team=Window(
                RowNumber(), partition_by=F("team"), order_by=["mean_bpb", Length("script"), "created", "pk"]
            ),
            pool_df=Window(Sum(F("n_scores") - 1)),
            pool_squares=Window(Sum(freedom * Coalesce(F("sd_bpb"), 0.0) * Coalesce(F("sd_bpb"), 0.0))),
            used=Subquery(charged, output_field=FloatField()),
            tried=Subquery(tried, output_field=IntegerField()),
        )
        .order_by("mean_bpb", "source_bytes", "created", "pk")
        .values(
            "pk",
            "team",
            "place_in_team",
            "team__name",
            "version",
            "mean_bpb",
            "sd_bpb",
            "n_scores",
            "note",
            "ranked_at",
            "used",
            "tried",
            "pool_df",
            "pool_squares",
        )
    )


def _row(rank: int, entry: Mapping[str, Any], phase: Phase) -> Row:
    rules = phase.rules
    n, step = entry["n_scores"], rules.rounding
    pool = Pool(entry["pool_squares"] or 0.0, int(entry["pool_df"] or 0))
    interval = interval_of(n=n, sd=entry["sd_bpb"], pool=pool)
    bpb = rounded(entry["mean_bpb"], step)
    half = rounded(interval.half, step, up=True) if interval and math.isfinite(interval.half) else None
    return Row(
        rank=rank,
        team=entry["team__name"],
        submission=entry["pk"],
        version=entry["version"],
        bpb=bpb,
        n=n,
        ci_low=None if half is None else rounded(bpb - half, step),
        ci_high=None if half is None else rounded(bpb + half, step),
        ci_pooled=bool(interval and interval.pooled),
        ci_df=interval.df if interval else None,
        sd=None if entry["sd_bpb"] is None else rounded(entry["sd_bpb"], step, up=True),
        compute_used_seconds=None if entry["used"] is None else round(entry["used"], 2),
        compute_granted_seconds=rules.budget.seconds * rules.runs,
        note=entry["note"],
        when=entry["ranked_at"],
        tried=entry["tried"],
    )
