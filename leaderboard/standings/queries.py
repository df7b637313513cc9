"""The boards: the one source of rows for page, JSON, CSV and command line."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.competitions.models import Phase
from leaderboard.runs.queries import probes_json, runs_json
from leaderboard.standings import private
from leaderboard.standings.places import ORDER, before, pool_of, ranked, shown, standing, these, with_pool
from leaderboard.standings.rows import Board, Row, digits_of, pool_from, rounded, row_from
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.queries import submission_json as without_parts
from leaderboard.submissions.visibility import Viewer, sees_private, view_of

__all__ = ["Board", "Row", "board", "digits_of", "rounded", "row_of", "submission_json"]


def board(phase: Phase, shard: str = "public", viewer: Viewer | None = None) -> Board:
    """Return a phase's board as it is now; the public one in one query.

    Raises Refusal unknown_shard (404), and sealed (404) for the private one before the release, organizers apart.
    """
    if shard == "public":
        return _board(phase)
    private.require(phase, shard, viewer)
    return _private(phase)


def _private(phase: Phase) -> Board:
    if phase.released_at is None:
        return private.board_of(phase, _board(phase))
    order = private.order_released(phase)
    return private.without_left(private.board_of(phase, _board(phase, these(phase, order)), order))


def _board(phase: Phase, versions: QuerySet[Any, Any] | None = None) -> Board:
    """Return the public board, of the versions that stand or of others."""
    rules = phase.rules
    best = with_pool(shown(standing(phase) if versions is None else versions), phase)
    return Board(
        competition=phase.competition.slug,
        phase=phase.slug,
        shard="public",
        as_of=timezone.now(),
        released_at=phase.released_at,
        rounding=rules.rounding,
        digits=digits_of(rules.rounding),
        advance=rules.advance,
        rows=[row_from(rank, entry, phase, pool_from(entry)) for rank, entry in enumerate(best, start=1)],
    )


def row_of(submission: Submission) -> tuple[Row, bool] | None:
    """Return a ranked version's own numbers under its team's rank, and whether it is the one its team stands with."""
    if submission.state != State.RANKED:
        return None
    every = ranked(submission.phase)
    entry = shown(every.filter(pk=submission.pk)).first()
    best = every.filter(team=submission.team_id).order_by(*ORDER).values(*ORDER).first()
    if entry is None or best is None:  # withdrawn meanwhile
        return None
    ahead = every.filter(before(best)).values("team").distinct().count()
    row = row_from(ahead + 1, entry, submission.phase, pool_from(pool_of(submission.phase)))
    return row, entry["pk"] == best["pk"]


def submission_json(user: Viewer, submission: Submission) -> dict[str, Any]:
    """Return a submission as `user` may see it, with its standing: what page and API show."""
    access = view_of(user, submission)
    found = row_of(submission)
    standing = None
    if found:
        row, stands = found
        standing = {**row.to_json(), "rounding": submission.phase.rules.rounding, "stands": stands}
    body = without_parts(user, submission, runs=runs_json(submission, with_seed=access.seed), standing=standing)
    stood = submission.phase.released_at is not None or (found and found[1])
    hidden = private_standing(submission) if stood and sees_private(user, submission.phase) else None
    return {**body, "private": hidden, "probes": probes_json(submission, access)}


def private_standing(submission: Submission) -> dict[str, Any] | None:
    """Return a version's row of the private board; the caller has asked whether the reader may see it."""
    return next((row.to_json() for row in _private(submission.phase).rows if row.submission == submission.pk), None)
