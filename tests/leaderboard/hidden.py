"""A phase that has closed: its ranked teams, and the hidden attempts that follow."""

from typing import Any

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Phase
from leaderboard.pipeline import private
from leaderboard.runs.models import Attempt, HiddenResult
from leaderboard.standings.preview import preview
from leaderboard.standings.release import release
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import SCRIPT, later, make_user
from tests.leaderboard.host import Host, Work, queue, send, take


def rank(host: Host, competition: Any, bpb: float, *, user: Any = None, script: str = SCRIPT) -> Submission:
    """Bring a script of a person, or of a new one, to the board with a public score."""
    submission = queue(send(user or make_user(), competition, script))
    host.run(bpb=bpb)
    submission.refresh_from_db()
    assert submission.state == "ranked", submission.reason
    return submission


def close(phase: Phase) -> Phase:
    """Let the phase's end have passed."""
    Phase.objects.filter(pk=phase.pk).update(closes=later(minutes=-1))
    return Phase.objects.select_related("competition").get(pk=phase.pk)


def asked(host: Host) -> list[Work]:
    """Claim everything that waits on the hardware queue."""
    return [host.work(*args) for _, args in take(f"hw.{host.hardware}")]


def score_hidden(host: Host, scores: dict[int, float], phase: Phase) -> None:
    """Let a round open the phase's hidden attempts and score each, a run's private score from its submission's pk."""
    private.look_at(phase)
    for work in asked(host):
        attempt = Attempt.objects.select_related("run").get(pk=work.attempt)
        work.finish(bpb=scores[attempt.run.submission_id] if attempt.shard == "private" else 2.0)
    private.look_at(phase)


def released(phase: Phase) -> Phase:
    """Have an organizer release a phase as its preview shows it."""
    boss = User.objects.filter(username="releaser").first() or make_user("releaser", organizer=True)
    release(phase, digest=preview(phase).digest, organizer=boss)
    return Phase.objects.select_related("competition").get(pk=phase.pk)


def an_hour_passes() -> None:
    """Move what hidden attempts brought into the past, beyond the next full hour."""
    HiddenResult.objects.update(at=later(hours=-2))
