"""Looks for what is stuck and moves it on, so that a kill at any moment still leads to a final state.

Every non-final submission has a time at which it is looked at (`states.py`); a lease that ran out is lost; an attempt
whose message may be lost is offered again. A repeated message is harmless: claiming is a transition in the database.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from leaderboard.core.outbox import send
from leaderboard.pipeline import private, steps, tasks
from leaderboard.runs import leases
from leaderboard.runs import services as of_host
from leaderboard.runs import transitions as of_run
from leaderboard.runs.jobs import longest_seconds
from leaderboard.runs.models import Agent, Attempt, Run
from leaderboard.runs.transitions import LIVING_RUN
from leaderboard.submissions import kinship, transitions
from leaderboard.submissions.models import FINAL, Report, State, Submission

log = logging.getLogger(__name__)
AUDITS = 3
OFFER_AGAIN = timedelta(seconds=5)
OFFER_SLOWEST = timedelta(minutes=5)
KIN_AFTER = timedelta(minutes=1)  # of an audit, which takes the fingerprint itself
KIN_AT_ONCE = 20


@tasks.task("pipeline.reap")
def reap() -> None:
    """Make one round over everything that waits."""
    for round_of in (take_back_leases, look_at_submissions, look_at_closed_phases, offer_again, tidy_ended, find_kin):
        with apart(round_of.__name__):
            round_of()


@contextmanager
def apart(what: object) -> Iterator[None]:
    """Let what goes wrong with one row be that row's: those behind it have waited as long."""
    try:
        yield
    except Exception:  # whatever it is, the next round comes in seconds
        log.exception("the reaper stumbled over %s", what)


def take_back_leases() -> None:
    """leased → lost where no sign of life came in time, or where an attempt lasts beyond every honest end."""
    now = timezone.now()
    if not leases.begin_round(now):
        return
    for attempt in _attempts().filter(state=Attempt.State.LEASED):
        with apart(attempt):
            _take_back(attempt, now)


def _take_back(attempt: Attempt, now: datetime) -> None:
    longest = timedelta(seconds=longest_seconds(attempt))
    late = attempt.lease_until is None or attempt.lease_until <= now
    if not late and (attempt.leased_at is None or attempt.leased_at + longest > now):
        return
    if attempt.hidden:
        of_run.lose(attempt, cause="lost", unless_renewed=late)
    elif State(attempt.run.submission.state) in FINAL:
        of_run.cancel_attempts(attempt.run.submission_id)
        steps.tidy(attempt.run.submission_id)
    elif of_run.lose(attempt, cause="lost", unless_renewed=late):
        tasks.settle(attempt.pk)


def look_at_submissions() -> None:
    """Drive on what is past its deadline; who of several reapers moves the deadline first, acts."""
    due = Submission.objects.exclude(state__in=FINAL).filter(deadline__lte=timezone.now())
    for submission in due.select_related("phase", "team").defer("script").order_by("deadline"):
        with apart(submission):
            if transitions.look_again(submission):
                drive(submission)


def drive(submission: Submission) -> None:
    """Do again whatever a submission in this state may be waiting for."""
    state = State(submission.state)
    if state == State.AUDITING:
        transitions.restart_audit(submission)
        state = State(submission.state)
    if state == State.RECEIVED:
        started = submission.events.filter(kind="state", state=State.AUDITING).count()
        if started >= AUDITS:
            transitions.give_up_audit(submission)
        else:
            send("pipeline.audit", submission.pk)
    elif state == State.ACCEPTED:
        send("pipeline.dispatch", submission.pk)
    elif state in (State.QUEUED, State.RUNNING, State.SCORING):
        for attempt in _attempts().filter(
            run__submission=submission, state__in=(Attempt.State.FINISHED, Attempt.State.LOST)
        ):
            tasks.settle(attempt.pk)
        steps.begin_scoring(submission)
        tasks.publish(submission.pk)


def look_at_closed_phases() -> None:
    """Have the private shard scored of phases that have closed, and whatever else their release waits for."""
    now = timezone.now()
    for phase in private.due(now):
        with apart(phase):
            private.look_at(phase, now)


def offer_again() -> None:
    """Send the message of waiting attempts again while agents of their hardware are idle.

    The pause doubles with the attempt's age, so that a host that is away for a day finds no heap of messages.
    """
    now = timezone.now()
    idle = Counter(Agent.objects.filter(revoked=False).values_list("hardware", flat=True))
    idle.subtract(
        attempt.agent.hardware
        for attempt in Attempt.objects.filter(state=Attempt.State.LEASED).select_related("agent")
        if attempt.agent
    )
    for attempt in _attempts().filter(state=Attempt.State.WAITING).order_by("pk"):
        with apart(attempt):
            hardware = attempt.run.submission.phase.rules.hardware
            if attempt.sent_at is None:
                if not of_host.offer(attempt):
                    return  # the broker is away, and asking it once more for each attempt would take as many time-outs
            elif idle[hardware] > 0:
                idle[hardware] -= 1
                pause = min(max(OFFER_AGAIN, attempt.sent_at - attempt.created), OFFER_SLOWEST)
                if attempt.sent_at + pause <= now:
                    of_host.offer(attempt)


def tidy_ended() -> None:
    """Cancel what still waits of submissions that are over, unless a host is yet to hear of the end."""
    over = Q(submission__state__in=FINAL)
    public = Attempt.objects.filter(run=OuterRef("pk"), hidden=False)
    waiting = Exists(public.filter(state=Attempt.State.WAITING))
    ended = Run.objects.filter(over, waiting | Q(state__in=LIVING_RUN))
    ended = ended.exclude(Exists(public.filter(state=Attempt.State.LEASED)))
    for submission_id in sorted(set(ended.values_list("submission_id", flat=True))):
        with apart(f"submission {submission_id}"):
            steps.tidy(submission_id)


def find_kin() -> None:
    """Have fingerprints taken where an audit did not come to it, and of what was sent before there were any."""
    audited = Report.objects.filter(created__lte=timezone.now() - KIN_AFTER)
    for submission_id in kinship.missing(audited)[:KIN_AT_ONCE]:
        if not send("pipeline.kinship", submission_id):
            return


def _attempts() -> QuerySet[Attempt]:
    return Attempt.objects.select_related("run__submission__phase").defer("run__submission__script")
