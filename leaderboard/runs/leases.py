"""Leases: an agent claims an attempt and holds a capability for it, and for nothing else, while it shows life.

The capability is random, kept only as a hash, scoped to one attempt, and good for as long as the attempt is leased. A
lease that ran out is over when the reaper takes it back and not before: a host that was silent because nobody listened
still hands in its receipt. A second claim with the same keys (an answer was lost on the way) gets a new capability for
the same lease.
"""

import hmac
import logging
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from leaderboard.core.errors import Refusal
from leaderboard.core.secrets import digest
from leaderboard.env import env
from leaderboard.runs import clock, transitions
from leaderboard.runs.jobs import job_for
from leaderboard.runs.models import Agent, Attempt, Round
from leaderboard.submissions import transitions as of_submission
from leaderboard.submissions.models import State
from scoring.job import LEVELS
from scoring.outcomes import OK

log = logging.getLogger(__name__)
AT_WORK = frozenset({State.QUEUED, State.RUNNING, State.SCORING})


@dataclass(frozen=True)
class Lease:
    """What a claim gives: the capability's text is nowhere else."""

    capability: str
    expires: datetime
    job: dict[str, Any]


def claim(*, agent: Agent, attempt_id: int, public_key: str, host: dict[str, Any], isolation: str) -> Lease:
    """Lease a waiting attempt to an agent. Raises Refusal not_claimable (409), bad_key (400)."""
    if not re.fullmatch(r"[0-9a-f]{64}", public_key):
        raise Refusal("bad_key", "The public key must be 32 bytes in hex.")
    attempt = find(attempt_id)
    if attempt is None:
        raise _no("There is no such attempt.")
    rules = attempt.run.submission.phase.rules
    if agent.hardware != rules.hardware:
        raise _no(f"This attempt is for hardware {rules.hardware}, and this agent serves {agent.hardware}.")
    if isolation not in LEVELS or LEVELS.index(isolation) < LEVELS.index(rules.isolation):
        raise _no(f"This phase needs isolation {rules.isolation}, and this host offers {isolation[:20]!r}.")
    if not wanted(attempt):
        raise _no("The submission is not waiting for a host.")
    home = keeper(attempt)
    if home is not None and home != agent:
        raise _no("The checkpoint lies on the host that trained it, and only that one can score it.")
    try:
        job = job_for(attempt)
    except ValidationError as error:
        log.error("attempt %s cannot be described to a runner: %s", attempt_id, error)
        raise _no("The phase asks for something that no runner accepts.") from None
    capability, until = secrets.token_urlsafe(32), _until()
    fields = {
        "capability_digest": digest(capability),
        "public_key": public_key,
        "host": {**host, "isolation": isolation},
        "job": job,
    }
    with transaction.atomic():
        if attempt.kind == Attempt.Kind.TRAIN:
            of_submission.start(attempt.run.submission)
        if not transitions.lease(attempt, agent=agent, until=until, **fields):
            if not _again(attempt, agent, until, fields):
                raise _no("The attempt is taken or over.")
            job = Attempt.objects.values_list("job", flat=True).get(pk=attempt.pk)  # as it was first asked
    return Lease(capability, until, job)


def wanted(attempt: Attempt) -> bool:
    """Return whether somebody waits for what an attempt brings.

    A hidden one is for the release of a phase that has closed, and for what is ranked there.
    """
    submission = attempt.run.submission
    if attempt.hidden:
        phase = submission.phase
        return submission.state == State.RANKED and phase.released_at is None and phase.state() == "closed"
    return State(submission.state) in AT_WORK


def keeper(attempt: Attempt) -> Agent | None:
    """Return the agent on whose host the checkpoint to be scored lies, with the references; None where that is moot.

    An agent that was revoked will not come: then any other may say that it has no checkpoint, and the run ends as ours.
    """
    if attempt.kind != Attempt.Kind.SCORE:
        return None
    sealed = Attempt.objects.filter(run=attempt.run_id, kind=Attempt.Kind.TRAIN, state=Attempt.State.FINISHED)
    newest = sealed.filter(cause=OK).select_related("agent").order_by("-number").first()
    return newest.agent if newest and newest.agent and not newest.agent.revoked else None


def holder(attempt_id: int, capability: str) -> Attempt:
    """Return the attempt that a capability is for, whatever its state. Raises Refusal not_authenticated (401)."""
    attempt = find(attempt_id)
    given = digest(capability)
    if attempt is None or not attempt.capability_digest or not hmac.compare_digest(attempt.capability_digest, given):
        raise Refusal("not_authenticated", "This capability is not for this attempt.", 401)
    return attempt


def require_live(attempt: Attempt) -> None:
    """Raise Refusal attempt_over (410) unless the attempt is leased, whatever the clock says of its lease."""
    if attempt.state != Attempt.State.LEASED:
        raise Refusal("attempt_over", "This attempt is over, or was taken back.", 410)


def renew(attempt: Attempt) -> bool:
    """Extend the lease from now on; False when the attempt was taken away meanwhile."""
    leased = Attempt.objects.filter(pk=attempt.pk, state=Attempt.State.LEASED)
    if attempt.agent_id:
        Agent.objects.filter(pk=attempt.agent_id).update(last_seen=timezone.now())
    return bool(leased.update(lease_until=_until()))


def begin_round(now: datetime) -> bool:
    """Note that the reaper makes a round; return whether it may take leases back.

    Rounds that were further apart than a lease mean that the platform was away, and then no host could show life,
    however well its run went on. So every host has one lease from the first round on to be heard again; likewise
    after a round that finds the clock set, which sets right what was counted by it.
    """
    read, lease = clock.Reading.at(now), timedelta(seconds=env().lease_seconds)
    with transaction.atomic():
        last = Round.objects.select_for_update().get_or_create(pk=1, defaults={"at": now})[0]
        jump = read.jumped_since(last)
        if jump:
            clock.set_right(now, jump)
        spare_until = now + lease if jump or now - last.at > lease else last.spare_until
        Round.objects.filter(pk=1).update(at=now, spare_until=spare_until, offset=read.offset, boot=read.boot)
    return spare_until is None or spare_until <= now


def find(attempt_id: int) -> Attempt | None:
    """Return an attempt with its run, submission and phase; the script's bytes stay in the database."""
    parts = ("run__submission__phase__competition__shards", "run__submission__kit", "agent")
    return Attempt.objects.select_related(*parts).defer("run__submission__script").filter(pk=attempt_id).first()


def _again(attempt: Attempt, agent: Agent, until: datetime, fields: dict[str, Any]) -> bool:
    """Renew the lease of an agent that claims what it holds already."""
    held = Attempt.objects.filter(
        pk=attempt.pk, state=Attempt.State.LEASED, agent=agent, public_key=fields["public_key"]
    )
    return bool(held.update(lease_until=until, capability_digest=fields["capability_digest"]))


def _until() -> datetime:
    return timezone.now() + timedelta(seconds=env().lease_seconds)


def _no(sentence: str) -> Refusal:
    return Refusal("not_claimable", sentence, 409)
