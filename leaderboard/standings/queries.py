"""The rows of a board: the one source for page, JSON, CSV and command line.

A team stands with its best public mean. What is shown is rounded to the phase's step, interval and spread with it: an
exact number would carry more than a score.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db.models import (
    BigIntegerField,
    CharField,
    Count,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Concat, Length, RowNumber
from django.utils import timezone

from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.runs.queries import runs_json
from leaderboard.standings.intervals import Pool, interval_of
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.queries import submission_json as without_parts
from leaderboard.submissions.visibility import Viewer, view_of


@dataclass(frozen=True)
class Row:
    """A team's standing. Bits per byte and seconds; `tried` counts the versions its team sent in.

    `ledger` is the sequence number of the entry that ranked it.
    """

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
    ledger: int | None

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


# Who stands before whom: the exact mean, then fewer source bytes, then who sent it earlier. One tuple for a team's own
# versions and for all: were a team's best chosen by another order, it would stand with a version that ranks lower.
ORDER = ("mean_bpb", "source_bytes", "created", "pk")
_SD = Coalesce(F("sd_bpb"), 0.0)
_FREEDOM = F("n_scores") - 1
POOL = {"pool_df": Sum(_FREEDOM), "pool_squares": Sum(Cast(_FREEDOM, FloatField()) * _SD * _SD)}


def board(phase: Phase) -> Board:
    """Return the public board of a phase as it is now, in one query."""
    rules = phase.rules
    # Windows look at all versions of a phase before the filter drops those that a team does not stand with.
    places = Window(RowNumber(), partition_by=F("team"), order_by=list(ORDER))
    pool = {name: Window(total) for name, total in POOL.items()}
    best = _shown(_ranked(phase)).annotate(place_in_team=places, **pool).filter(place_in_team=1).order_by(*ORDER)
    return Board(
        competition=phase.competition.slug,
        phase=phase.slug,
        as_of=timezone.now(),
        rounding=rules.rounding,
        digits=digits_of(rules.rounding),
        advance=rules.advance,
        rows=[_row(rank, entry, phase, entry) for rank, entry in enumerate(best, start=1)],
    )


def row_of(submission: Submission) -> tuple[Row, bool] | None:
    """Return a ranked version's own numbers under its team's rank, and whether it is the one its team stands with."""
    ranked = _ranked(submission.phase)
    entry = _shown(ranked.filter(pk=submission.pk)).first()
    if entry is None:
        return None
    best = ranked.filter(team=submission.team_id).order_by(*ORDER).values(*ORDER)[0]
    ahead = ranked.filter(_before(best)).values("team").distinct().count()
    row = _row(ahead + 1, entry, submission.phase, ranked.aggregate(**POOL))
    return row, entry["pk"] == best["pk"]


def submission_json(user: Viewer, submission: Submission) -> dict[str, Any]:
    """Return a submission as `user` may see it, with its standing: what page and API show."""
    found = row_of(submission)
    standing = None
    if found:
        row, stands = found
        standing = {**row.to_json(), "rounding": submission.phase.rules.rounding, "stands": stands}
    runs = runs_json(submission, with_seed=view_of(user, submission).seed)
    return without_parts(user, submission, runs=runs, standing=standing)


def digits_of(step: float) -> int:
    """Return how many decimals a rounding step shows: 3 for 0.001."""
    exponent = Decimal(repr(step)).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def rounded(value: float, step: float, *, up: bool = False) -> float:
    """Return `value` as a multiple of `step`, the nearest one or the next above."""
    unit = Decimal(repr(step))
    whole = (Decimal(repr(value)) / unit).to_integral_value(ROUND_CEILING if up else ROUND_HALF_EVEN)
    return float(whole * unit)


def _ranked(phase: Phase) -> QuerySet[Any, Any]:
    """Return the ranked versions of a phase, with all that ORDER names."""
    ranked = Submission.objects.filter(phase=phase, state=State.RANKED)
    found: QuerySet[Any, Any] = ranked.annotate(source_bytes=Length("script"))
    return found


def _before(entry: Mapping[str, Any]) -> Q:
    """Return the condition that a version stands before this one in ORDER."""
    before, same = Q(), Q()
    for name in ORDER:
        before |= same & Q(**{f"{name}__lt": entry[name]})
        same &= Q(**{name: entry[name]})
    return before


def _shown(ranked: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return what rows show of ranked versions, as dicts."""
    sent = Submission.objects.filter(phase=OuterRef("phase"), team=OuterRef("team"))
    tried = sent.order_by().values("team").annotate(count=Count("pk")).values("count")
    charged = Submission.objects.filter(pk=OuterRef("pk")).annotate(used=Sum("runs__charged_seconds")).values("used")
    subject = Concat(Value("submission:"), Cast(OuterRef("pk"), CharField()))
    entry = Entry.objects.filter(kind="submission.ranked", subject=subject).order_by("-seq").values("seq")
    found: QuerySet[Any, Any] = ranked.annotate(
        used=Subquery(charged, output_field=FloatField()),
        tried=Subquery(tried, output_field=IntegerField()),
        ledger=Subquery(entry[:1], output_field=BigIntegerField()),
    ).values(
        "pk", "team__name", "version", "mean_bpb", "sd_bpb", "n_scores", "note", "ranked_at", "used", "tried", "ledger"
    )
    return found


def _row(rank: int, entry: Mapping[str, Any], phase: Phase, pooled: Mapping[str, Any]) -> Row:
    rules = phase.rules
    n, step = entry["n_scores"], rules.rounding
    pool = Pool(pooled["pool_squares"] or 0.0, int(pooled["pool_df"] or 0))
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
        ledger=entry["ledger"],
    )
