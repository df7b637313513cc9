"""The private board: the versions that stand on the public one, ranked by scores that nobody has been able to chase.

Until the release it is for organizers alone: for everybody else it does not exist, finished or not. From then on it is
made from the order that the ledger's entry of the release holds, and from scores that are written once: it does not
move any more. A version that is disqualified later leaves a gap.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.ledger.models import Entry
from leaderboard.runs.models import HiddenResult, Run, Score
from leaderboard.standings.intervals import Pool
from leaderboard.standings.places import ORDER, these
from leaderboard.standings.rows import Board, Row, figures
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.visibility import Viewer, sees_private
from scoring import outcomes

SHARD = "private"
RELEASED = "phase.released"  # kind of the ledger's entry
FAILED, MISSING = "failed on the private shard", "not scored yet"


@dataclass(frozen=True)
class Result:
    """What is known of a version on the private shard: its runs' published scores, in the order of the runs.

    `failed` holds the outcome codes of runs that came to no score, `missing` the runs of which nothing is known yet.
    """

    scores: tuple[float, ...]
    failed: tuple[str, ...]
    missing: tuple[int, ...]

    @property
    def outcome(self) -> str:
        return FAILED if self.failed else MISSING if self.missing or not self.scores else ""


def require(phase: Phase, shard: str, viewer: Viewer | None) -> None:
    """Return quietly where `viewer` may see the board of this shard. Raises Refusal unknown_shard or sealed (404)."""
    if shard != SHARD:
        raise Refusal("unknown_shard", "There is a public and a private board, and no other.", 404)
    if phase.released_at is None and (viewer is None or not sees_private(viewer, phase)):
        raise Refusal("sealed", "The private board of this phase is sealed until its release.", 404)


def board_of(phase: Phase, public: Board, released: list[int] | None = None) -> Board:
    """Return the private board beside the public one, in the order that was released where there is one.

    Who may see it is for the caller to ask.
    """
    known = results([row.submission for row in public.rows])
    whole = {pk: result for pk, result in known.items() if not result.outcome}
    order = _order(phase, whole) if released is None else [pk for pk in released if pk in whole]
    pool = _pool(whole)
    of = {row.submission: row for row in public.rows}
    rows = [_scored(of[pk], rank, whole[pk], pool, phase) for rank, pk in enumerate(order, start=1)]
    rows += [_unscored(row, known[row.submission]) for row in public.rows if row.submission not in whole]
    return replace(public, shard=SHARD, rows=rows)


def order_released(phase: Phase) -> list[int]:
    """Return the versions of a released phase in the order of its private board, those without a rank behind."""
    entry = Entry.objects.filter(kind=RELEASED, subject=f"phase:{phase.pk}").order_by("-seq").first()
    return list(json.loads(entry.data)["order"]) if entry else []


def without_left(board: Board) -> Board:
    """Return a released board without the versions that are not ranked any more; the others stand where they stood."""
    shown = [row.submission for row in board.rows]
    stay = set(Submission.objects.filter(pk__in=shown, state=State.RANKED).values_list("pk", flat=True))
    rows = [row for row in board.rows if row.submission in stay]
    return replace(board, rows=rows, left=len(shown) - len(rows))


def _order(phase: Phase, whole: dict[int, Result]) -> list[int]:
    # One that has been withdrawn since the public board was read is in its place here too: this is one moment's board.
    of_equals = {pk: rest for pk, *rest in these(phase, list(whole)).values_list("pk", *ORDER[1:])}
    return sorted(whole, key=lambda pk: (fmean(whole[pk].scores), *of_equals[pk]))


def results(submissions: list[int]) -> dict[int, Result]:
    """Return what is known of these versions on the private shard."""
    runs: dict[int, list[int]] = defaultdict(list)
    of_run = Run.objects.filter(submission__in=submissions).order_by("index").values_list("submission", "pk")
    for submission, run in of_run:
        runs[submission].append(run)
    mine = {"run__submission__in": submissions, "shard": SHARD}
    codes = dict(HiddenResult.objects.filter(**mine).values_list("run", "code"))
    scores = dict(Score.objects.filter(**mine).values_list("run", "published_bpb"))
    return {
        submission: Result(
            scores=tuple(scores[run] for run in runs[submission] if run in scores),
            failed=tuple(codes[run] for run in runs[submission] if codes.get(run, outcomes.OK) != outcomes.OK),
            missing=tuple(run for run in runs[submission] if run not in codes),
        )
        for submission in submissions
    }


def _pool(whole: dict[int, Result]) -> Pool:
    spreads = [(len(result.scores) - 1, stdev(result.scores)) for result in whole.values() if len(result.scores) > 1]
    return Pool(sum(df * sd * sd for df, sd in spreads), sum(df for df, _ in spreads))


def _scored(row: Row, rank: int, result: Result, pool: Pool, phase: Phase) -> Row:
    n = len(result.scores)
    sd = stdev(result.scores) if n > 1 else None
    shown = figures(mean=fmean(result.scores), sd=sd, n=n, pool=pool, step=phase.rules.rounding)
    shift = None if row.rank is None else row.rank - rank
    return replace(row, rank=rank, public_rank=row.rank, shift=shift, n=n, **vars(shown))


def _unscored(row: Row, result: Result) -> Row:
    nothing: dict[str, Any] = dict.fromkeys(("rank", "bpb", "ci_low", "ci_high", "ci_df", "sd"))
    nothing |= {"n": len(result.scores), "ci_pooled": False}
    return replace(row, public_rank=row.rank, outcome=result.outcome, **nothing)
