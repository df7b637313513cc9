"""Who stands where: the order of a board, and the version that each team stands with.

A team stands with its best public mean; the private board ranks that same version.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import (
    BigIntegerField,
    CharField,
    Count,
    F,
    FloatField,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Cast, Concat, Length

from leaderboard.accounts.models import Team
from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.runs.models import Run, Score
from leaderboard.submissions.models import State, Submission

# Who stands before whom: the exact mean, then fewer source bytes, then who sent it earlier. One tuple for a team's own
# versions and for all: were a team's best chosen by another order, it would stand with a version that ranks lower.
ORDER = ("mean_bpb", "source_bytes", "created", "pk")
_FREEDOM = F("n_scores") - 1
_SQUARES = Cast(_FREEDOM, FloatField()) * F("sd_bpb") * F("sd_bpb")
POOL = {"pool_df": Sum(_FREEDOM), "pool_squares": Sum(_SQUARES)}
_POOL_KINDS = {"pool_df": IntegerField(), "pool_squares": FloatField()}


def ranked(phase: Phase) -> QuerySet[Any, Any]:
    """Return the ranked versions of a phase, with all that ORDER names."""
    found: QuerySet[Any, Any] = _versions(phase).annotate(source_bytes=Length("script"))
    return found


def standing(phase: Phase) -> QuerySet[Any, Any]:
    """Return the version that each team stands with, in the board's order.

    Each team's best is the first of an index, so that a board of a hundred teams reads a hundred versions and not all.
    """
    own = ranked(phase).filter(team=OuterRef("pk")).order_by(*ORDER).values("pk")[:1]
    best = Team.objects.filter(competition=phase.competition_id).annotate(best=Subquery(own)).values("best")
    return ranked(phase).filter(pk__in=best).order_by(*ORDER)


def these(phase: Phase, submissions: list[int]) -> QuerySet[Any, Any]:
    """Return these versions of a phase in the board's order, whatever has become of them."""
    rows = Submission.objects.filter(phase=phase, pk__in=submissions).annotate(source_bytes=Length("script"))
    found: QuerySet[Any, Any] = rows.order_by(*ORDER)
    return found


def with_pool(rows: QuerySet[Any, Any], phase: Phase) -> QuerySet[Any, Any]:
    """Add the sums of the phase's pooled spread to each row; the database computes them once."""
    every = _versions(phase).order_by().values("phase")
    sums = {
        name: Subquery(every.annotate(total=total).values("total"), output_field=_POOL_KINDS[name])
        for name, total in POOL.items()
    }
    found: QuerySet[Any, Any] = rows.annotate(**sums)
    return found


def pool_of(phase: Phase) -> dict[str, Any]:
    """Return the sums of the phase's pooled spread."""
    return _versions(phase).aggregate(**POOL)


def before(entry: Mapping[str, Any]) -> Q:
    """Return the condition that a version stands before this one in ORDER."""
    earlier, same = Q(), Q()
    for name in ORDER:
        earlier |= same & Q(**{f"{name}__lt": entry[name]})
        same &= Q(**{name: entry[name]})
    return earlier


def _versions(phase: Phase) -> QuerySet[Submission]:
    return Submission.objects.filter(phase=phase, state=State.RANKED)


def shown(rows: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return what rows show of ranked versions, as dicts."""
    sent = Submission.objects.filter(phase=OuterRef("phase"), team=OuterRef("team"))
    tried = sent.order_by().values("team").annotate(count=Count("pk")).values("count")
    # A run's seconds are those of the attempt that counts: what was repeated because of us is not the team's use.
    runs = Run.objects.filter(submission=OuterRef("pk")).order_by().values("submission")
    charged = runs.annotate(used=Sum("charged_seconds")).values("used")
    subject = Concat(Value("submission:"), Cast(OuterRef("pk"), CharField()))
    entry = Entry.objects.filter(kind="submission.ranked", subject=subject).order_by("-seq").values("seq")
    scores = Score.objects.filter(run__submission=OuterRef("pk"), shard="public").order_by().values("run__submission")
    evenly = scores.annotate(any=Max(Cast("drawn_evenly", IntegerField()))).values("any")
    found: QuerySet[Any, Any] = rows.annotate(
        used=Subquery(charged, output_field=FloatField()),
        tried=Subquery(tried, output_field=IntegerField()),
        ledger=Subquery(entry[:1], output_field=BigIntegerField()),
        power=Subquery(scores.annotate(least=Min("power")).values("least"), output_field=IntegerField()),
        evenly=Subquery(evenly, output_field=IntegerField()),
    ).values(*COLUMNS)
    return found


COLUMNS = (
    *("pk", "team__name", "version", "mean_bpb", "sd_bpb", "n_scores", "note", "ranked_at", "used", "tried", "ledger"),
    *("power", "evenly", "source_bytes", "created"),
)
