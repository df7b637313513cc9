"""The caller's own submissions as a list: newest first, a page at a time."""

from typing import Any

from leaderboard.accounts.models import User
from leaderboard.api import shapes
from leaderboard.competitions.models import Competition
from leaderboard.core.errors import Refusal
from leaderboard.standings.queries import rounded
from leaderboard.submissions.models import FINAL, State, Submission


def page_of(
    user: User, *, competition: str | None, state: State | None, cursor: int | None, limit: int
) -> dict[str, Any]:
    """Return submissions of the user's teams that came before the one numbered `cursor`, newest first.

    Raises Refusal unknown_competition (404).
    """
    rows = Submission.objects.filter(team__memberships__user=user).select_related("team", "phase__competition")
    if competition is not None:
        rows = rows.filter(phase__competition=_competition(competition))
    if state is not None:
        rows = rows.filter(state=state)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    found = list(rows.defer("script").order_by("-pk")[: limit + 1])
    more = len(found) > limit
    shown = found[:limit]
    return {"submissions": [_line(row) for row in shown], "next": shown[-1].pk if more else None}


def _competition(slug: str) -> Competition:
    found = Competition.objects.filter(slug=slug).first() if slug.isprintable() else None
    if found is None:
        raise Refusal("unknown_competition", f"There is no competition called {slug[:60]!r}.", 404)
    return found


def _line(row: Submission) -> shapes.Listed:
    step = row.phase.rules.rounding
    ranked = row.state == State.RANKED and row.mean_bpb is not None
    return shapes.Listed(
        id=row.pk,
        version=row.version,
        team=row.team.name,
        competition=row.phase.competition.slug,
        phase=row.phase.slug,
        state=row.state,
        final=row.state in FINAL,
        created=row.created,
        note=row.note,
        bpb=rounded(row.mean_bpb, step) if ranked and row.mean_bpb is not None else None,
        n=row.n_scores if ranked else 0,
        rounding=step,
        url=f"/submissions/{row.pk}",
    )
