"""The way of a submission, top to bottom: audit, dispatch, settle (collect, then score), publish.

Tasks carry one id, read everything else from the database, and may come twice, late or never: each looks at what is
true and does what is still to do. What is never sent is sent again by the reaper.
"""

import logging
import math
import statistics
from collections.abc import Callable
from typing import TypeVar

from django.db import transaction
from pydantic import ValidationError

import reviewer
from leaderboard.celery import app
from leaderboard.competitions.seeds import seed_for
from leaderboard.core.outbox import send_after_commit
from leaderboard.pipeline import kin, private, reports, steps
from leaderboard.pipeline.endings import ending_of
from leaderboard.runs import transitions as of_run
from leaderboard.runs.jobs import job_for
from leaderboard.runs.models import Attempt, Run, Score
from leaderboard.runs.numbers import keep_reference, score_fields
from leaderboard.submissions import transitions
from leaderboard.submissions.background import context_of
from leaderboard.submissions.models import FINAL, Report, State, Submission

log = logging.getLogger(__name__)
Task = TypeVar("Task", bound=Callable[..., None])
PUBLIC = "public"


def task(name: str) -> Callable[[Task], Task]:
    """Register a function under a name for messages; the function itself stays callable."""

    def register(function: Task) -> Task:
        app.task(name=name, ignore_result=True)(function)
        return function

    return register


@task("pipeline.audit")
def audit(submission_id: int) -> None:
    """Let the reviewer read the script in its limited child, keep its report, and act on the verdict."""
    submission = Submission.objects.select_related("policy", "phase", "team").filter(pk=submission_id).first()
    if submission is None or not transitions.start_audit(submission):
        return
    policy = reviewer.Policy.from_mapping(submission.policy.body)
    try:
        launch = reviewer.LaunchFacts.of(submission.launch_spec)
        report = reviewer.review(bytes(submission.script), policy, launch=launch, context=context_of(submission))
    except reviewer.ReviewerFault as fault:
        log.error("submission %s was not audited: %s", submission_id, fault)
        transitions.restart_audit(submission)  # the reaper sends it again, and after the third audit gives up
        return
    body = report.to_json()
    with transaction.atomic():
        if not act_on(report, submission):  # the loser of two audits leaves no second report
            return
        Report.objects.create(submission=submission, verdict=report.verdict, ruleset=report.ruleset, body=body)
    kin.take(submission, body)


@task("pipeline.kinship")
def kinship(submission_id: int) -> None:
    """Take the fingerprint of a submission whose audit did not come to that, or was before there were any."""
    newest = Report.objects.filter(submission=submission_id).order_by("-id").first()
    submission = Submission.objects.select_related("policy", "phase").filter(pk=submission_id).first()
    if newest is not None and submission is not None:
        kin.take(submission, newest.body)


def act_on(report: reviewer.Report, submission: Submission) -> bool:
    """Move a submission to where its report sends it; False when another audit was first."""
    if report.verdict == "reject":
        return transitions.reject(submission, **reports.reason(report))
    if report.verdict == "review":
        return transitions.ask_organizer(submission, **reports.reason(report))
    won = transitions.accept(submission)
    if won:
        send_after_commit("pipeline.dispatch", submission.pk)
    return won


@task("pipeline.dispatch")
def dispatch(submission_id: int) -> None:
    """Draw the seeds, create the runs, and offer their first attempts to the phase's hardware."""
    submission = steps.load(submission_id)
    if submission is None:
        return
    count = submission.phase.rules.runs
    try:
        with transaction.atomic():
            if not transitions.queue(submission, runs=count):
                return
            seeds = [seed_for(submission.phase, submission.script_sha256, index) for index in range(count)]
            attempts = of_run.open_runs(submission, seeds)
            job_for(attempts[0])
    except (ValidationError, RuntimeError) as error:  # a job that no runner accepts, or the seeds' secret is gone
        log.error("submission %s cannot be run: %s", submission_id, error)
        submission.refresh_from_db(fields=["state"])
        reason = "The platform is not set up to run this phase; this is ours, and your quota is refunded."
        transitions.error(submission, State.ACCEPTED, code="bad_phase", reason=reason)
        return
    for attempt in attempts:
        steps.offer_after_commit(attempt)


@task("pipeline.settle")
def settle(attempt_id: int) -> None:
    """Act on the end of an attempt: take what it brought, fail its submission, or try again."""
    attempt = steps.ended(attempt_id)
    if attempt is None:
        return
    if attempt.hidden:
        private.settle(attempt)
        return
    ending = ending_of(attempt)
    if ending.whose == "script":
        steps.fail(attempt, ending)
    elif ending.whose == "platform":
        steps.repeat(attempt, ending)
    elif attempt.kind == Attempt.Kind.TRAIN:
        collect(attempt)
    else:
        score(attempt)


def collect(attempt: Attempt) -> None:
    """Seal a run that has trained and have its checkpoint scored."""
    steps.note_use(attempt)
    of_run.seal(attempt.run, attempt, checkpoint_sha256=attempt.receipt.body["checkpoint_sha256"])
    steps.first_attempt_at(attempt.run, Attempt.Kind.SCORE, PUBLIC)
    steps.begin_scoring(attempt.run.submission)


def score(attempt: Attempt) -> None:
    """Write the one Score of a run and shard."""
    of_run.record_score(attempt.run, attempt, score_fields(attempt.receipt.body))
    publish(attempt.run.submission_id)


@task("pipeline.publish")
def publish(submission_id: int) -> None:
    """Rank a submission when every one of its runs has a finite public score: mean, spread and n."""
    submission = steps.load(submission_id)
    if submission is None or State(submission.state) in FINAL:
        return
    runs = list(submission.runs.all())
    if not runs or any(run.state != Run.State.SCORED for run in runs):
        return
    found = Score.objects.filter(run__submission=submission, shard=PUBLIC).order_by("run__index")
    values = list(found.values_list("published_bpb", flat=True))
    if len(values) != len(runs) or not all(math.isfinite(bpb) and 0 < bpb <= 64 for bpb in values):
        log.error("submission %s has scored runs without a score each", submission_id)
        return
    steps.begin_scoring(submission)
    mean = math.fsum(values) / len(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    with transaction.atomic():
        if transitions.rank(submission, mean=mean, sd=sd, n=len(values)):
            for each in found.select_related("attempt__receipt", "attempt__run__submission__phase"):
                keep_reference(each.attempt)  # only now: all its runs were probed and found clean


@task("pipeline.rerun")
def rerun(submission_id: int) -> None:
    """Go on with a submission that an organizer sent back: take up what had ended unseen, offer what waits anew."""
    submission = steps.load(submission_id)
    if submission is None or State(submission.state) in FINAL:
        return
    attempts = Attempt.objects.filter(run__submission=submission, hidden=False)
    for attempt in attempts.filter(state__in=(Attempt.State.FINISHED, Attempt.State.LOST)):
        settle(attempt.pk)
    for attempt in attempts.filter(state=Attempt.State.WAITING, sent_at=None):
        steps.offer_after_commit(attempt)
    steps.begin_scoring(submission)
    publish(submission_id)
