"""Who sees what of a submission: the one function that page, API, CSV, stream and CLI ask.

Its team and the competition's organizers see all of it. A stranger sees the row of a ranked one,
and more only after the phase's release, part by part as the phase says.
"""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from leaderboard.accounts.models import Membership, User
from leaderboard.competitions.models import Competition, Phase
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

    @property
    def inside(self) -> bool:
        """Whether the viewer is its team or an organizer."""
        return self.own or self.organizer


def view_of(user: Viewer, submission: Submission) -> Access:
    """Return what `user` may read of `submission`."""
    own = isinstance(user, User) and _is_member(user, submission)
    organizer = organizes(user, submission.phase.competition)
    if own or organizer:
        return Access(own, organizer, row=True, script=True, findings=True, log=True, seed=True, receipt=True)
    if submission.state != State.RANKED:
        return Access()
    opened, rules = submission.phase.released_at is not None, submission.phase.rules.visibility
    return Access(
        row=True,
        script=opened and rules.scripts == "release",
        findings=opened and rules.findings == "release",
        log=opened and rules.logs == "release",
        seed=opened and rules.seeds == "release",
        receipt=opened and rules.receipts == "release",
    )


def organizes(user: Viewer, competition: Competition) -> bool:
    """Return whether `user` is an organizer of the competition; staff organize all."""
    if not user.is_authenticated or not user.is_active:
        return False
    return user.is_staff or competition.organizers.filter(pk=user.pk).exists()


def sees_private(user: Viewer, phase: Phase) -> bool:
    """Return whether `user` may see what is known of the private shard: everybody once it is released."""
    return phase.released_at is not None or organizes(user, phase.competition)


def _is_member(user: User, submission: Submission) -> bool:
    return Membership.objects.filter(user=user, team_id=submission.team_id).exists()
