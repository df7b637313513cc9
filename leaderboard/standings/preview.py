"""What a release would publish, and what it waits for: everything that an organizer reads before they say yes.

The digest is over all of it, the phase's rules and what they open to everybody with it. So a yes is a yes to exactly
this: whatever changes meanwhile changes the digest. However many entries there are, it takes the same few queries: the
release looks a second time while nothing else may change.
"""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from leaderboard.competitions.models import Phase
from leaderboard.competitions.queries import still_sealing
from leaderboard.runs.models import Attempt, HiddenResult, Run
from leaderboard.standings import private
from leaderboard.standings.queries import board
from leaderboard.standings.rows import Row
from leaderboard.submissions.models import FINAL, Submission
from scoring.chain import canonical

BREACH = "breach"


@dataclass(frozen=True)
class Again:
    """How an entry inside the cut took being probed again: of its runs, how many clean, breaching, otherwise ended."""

    submission: int
    clean: int
    breach: int
    ended: tuple[str, ...]
    missing: int

    @property
    def word(self) -> str:
        if self.breach:
            return "breach"
        return "missing" if self.missing else ", ".join(self.ended) or "clean"


@dataclass(frozen=True)
class Preview:
    """A phase as its release would leave it."""

    phase: Phase
    rows: list[Row]
    results: dict[int, private.Result]
    again: list[Again]
    on_their_way: int
    receipts: dict[int, str]  # run -> hash of the receipt that its private result came from
    sealing: list[str]  # other phases that are not released and score on the same shards

    @property
    def missing(self) -> int:
        """Return how many private scores are still to come."""
        return sum(len(result.missing) for result in self.results.values())

    @property
    def scored(self) -> int:
        return sum(len(result.scores) for result in self.results.values())

    @property
    def failed(self) -> int:
        return sum(len(result.failed) for result in self.results.values())

    def problems(self) -> list[str]:
        """Return what stands against a release, a sentence each; nothing when it may be."""
        phase, found = self.phase, []
        if phase.released_at:
            found.append(f"It was released on {phase.released_at:%Y-%m-%d at %H:%M} UTC.")
        if phase.state() != "closed":
            found.append(
                f"It is {phase.state()} until {phase.closes:%Y-%m-%d %H:%M} UTC; to end it now, set `closes` of the"
                " phase in the competition file to a time that has passed and load the file again."
            )
        if self.on_their_way:
            found.append(f"{_many(self.on_their_way, 'submission')} not at an end yet, counting those in review.")
        if self.missing:
            found.append(f"{_many(self.missing, 'private score')} missing; the platform asks for them by itself.")
        if any(entry.missing for entry in self.again):
            missing = sum(1 for entry in self.again if entry.missing)
            found.append(f"{_many(missing, 'entry inside the cut', 'entries inside the cut')} not probed again yet.")
        return found

    @property
    def digest(self) -> str:
        """Return the hash of all that the release would publish."""
        facts: dict[str, Any] = {
            "phase": self.phase.pk,
            "closes": self.phase.closes.isoformat(),
            "spec": self.phase.spec,
            "sealing": self.sealing,
            "rows": [row.to_json() for row in self.rows],
            "scores": {str(pk): [list(known.scores), list(known.failed)] for pk, known in self.results.items()},
            "receipts": {str(run): sha256 for run, sha256 in self.receipts.items()},
            "again": [[entry.submission, entry.clean, entry.breach, list(entry.ended)] for entry in self.again],
            "problems": len(self.problems()),
        }
        return hashlib.sha256(canonical(facts)).hexdigest()


def preview(phase: Phase) -> Preview:
    """Return what a release of the phase would publish now. Who may read it is for the caller to ask."""
    public = board(phase)
    order = [row.submission for row in public.rows]
    others = still_sealing(phase).values_list("competition__slug", "slug")
    living = Submission.objects.filter(phase=phase).exclude(state__in=FINAL)
    mine = HiddenResult.objects.filter(run__submission__in=order, shard=private.SHARD)
    return Preview(
        phase=phase,
        rows=private.board_of(phase, public).rows,
        results=private.results(order),
        again=_again(order[: phase.rules.advance]),
        on_their_way=living.count(),
        receipts=dict(mine.order_by("run").values_list("run", "attempt__receipt__sha256")),
        sealing=[f"{competition}/{slug}" for competition, slug in others],
    )


def _again(submissions: list[int]) -> list[Again]:
    runs = Run.objects.filter(submission__in=submissions).order_by().values_list("submission")
    asked = dict(runs.annotate(count=Count("pk")))
    known = HiddenResult.objects.filter(run__submission__in=submissions, shard="public")
    codes: dict[int, Counter[str]] = defaultdict(Counter)
    for submission, code in known.values_list("run__submission", "code"):
        codes[submission][code] += 1
    return [
        Again(
            submission=each,
            clean=codes[each]["ok"],
            breach=codes[each][BREACH],
            ended=tuple(sorted(set(codes[each]) - {"ok", BREACH})),
            missing=asked.get(each, 0) - codes[each].total(),
        )
        for each in submissions
    ]


def troubles(phase: Phase) -> list[str]:
    """Return a line for every hidden attempt that ended on our side, newest first: why something is missing."""
    ours = Attempt.objects.filter(run__submission__phase=phase, hidden=True, hidden_result=None).exclude(ended_at=None)
    return [
        f"submission {row.run.submission_id}, run {row.run.index + 1}, {row.shard}: "
        f"try {row.number} ended with {row.cause}"
        for row in ours.select_related("run").order_by("-pk")[:20]
    ]


def _many(count: int, one: str, several: str = "") -> str:
    return f"1 {one} is" if count == 1 else f"{count} {several or one + 's'} are"
