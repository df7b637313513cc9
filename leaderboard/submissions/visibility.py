"""Who sees what of a submission: the one function that page, API, CSV, stream and CLI ask.

Its team and the competition's organizers see all of it. A stranger sees the row of a ranked one, and more only after
the phase's release, part by part as the phase says; what was opened then stays open. Exact numbers of sealed shards are
for organizers alone until no phase is left that scores on them; an organizer who competes reads none of them either.
"""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from leaderboard.accounts.models import Membership, User
from leaderboard.competitions.models import Competition, Phase
from leaderboard.competitions.queries import shards_are_open
from leaderboard.submissions.models import State, Submission

Viewer = User | AnonymousUser


@dataclass(frozen=True)
class Access:
    """What one person may read of one submission."""

    own: bool = False  # a member of its team
    organizer: bool = False
    row: bool = False  # that it exists, its standing, note and compute
    script: bool = False
    findings: bool = False
    log: bool = False  # and its events and live progress
    seed: bool = False
    receipt: bool = False
    exact: bool = False  # scores to the last digit, as receipts of scorings say them

    @property
    def inside(self) -> bool:
        """Whether the viewer is its team or an organizer."""
        return self.own or self.organizer


def view_of(user: Viewer, submission: Submission) -> Access:
    """Return what `user` may read of `submission`."""
    phase = submission.phase
    own = isinstance(user, User) and is_member(user, submission)
    organizer = organizes(user, phase.competition)
    exact = (organizer and not competes(user, phase)) or shards_are_open(phase)
    if own or organizer:
        parts = dict.fromkeys(("row", "script", "findings", "log", "seed", "receipt"), True)
        return Access(own, organizer, **parts, exact=exact)
    stands = submission.state == State.RANKED
    if not stands and not _left_after_release(submission):
        return Access()
    opened, rules = phase.released_at is not None, phase.rules.visibility
    return Access(
        row=True,
        script=opened and rules.scripts == "release",
        findings=opened and rules.findings == "release",
        log=stands and opened and rules.logs == "release",  # with the organizer's words to the team
        seed=opened and rules.seeds == "release",
        receipt=opened and rules.receipts == "release",
        exact=exact,
    )


def _left_after_release(submission: Submission) -> bool:
    """Return whether a version was open to everybody before it was disqualified."""
    released = submission.phase.released_at
    ranked = submission.state == State.DISQUALIFIED and submission.ranked_at is not None
    return ranked and released is not None and submission.changed > released


def organizes(user: Viewer, competition: Competition) -> bool:
    """Return whether `user` is an organizer of the competition; staff organize all."""
    if not user.is_authenticated or not user.is_active:
        return False
    return user.is_staff or competition.organizers.filter(pk=user.pk).exists()


def sees_private(user: Viewer, phase: Phase) -> bool:
    """Return whether `user` may see what is known of the private shard: everybody once it is released.

    Before that organizers alone, and of them not those who compete.
    """
    return phase.released_at is not None or (organizes(user, phase.competition) and not competes(user, phase))


def competes(user: Viewer, phase: Phase) -> bool:
    """Return whether `user` is of a team of the phase's competition."""
    return isinstance(user, User) and user.memberships.filter(competition=phase.competition_id).exists()


def is_member(user: User, submission: Submission) -> bool:
    """Return whether `user` is of the team that sent it."""
    return Membership.objects.filter(user=user, team_id=submission.team_id).exists()
