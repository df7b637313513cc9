"""The way of a submission, top to bottom: audit, dispatch, collect, score, publish.

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
from leaderboard.pipeline import reports, steps
from leaderboard.pipeline.endings import ending_of
from leaderboard.runs import transitions as of_run
from leaderboard.runs.jobs import job_for
from leaderboard.runs.models import Attempt, Run, Score
from leaderboard.submissions import transitions
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
    report = reviewer.review(bytes(submission.script), policy)
    with transaction.atomic():
        Report.objects.create(
            submission=submission, verdict=report.verdict, ruleset=report.ruleset, body=report.to_json()
        )
        if report.verdict == "accept":
            if transitions.accept(submission):
                send_after_commit("pipeline.dispatch", submission_id)
        elif report.verdict == "review":
            transitions.ask_organizer(submission, **reports.reason(report))
        else:
            transitions.reject(submission, **reports.reason(report))


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


@task("pipeline.collect")
def collect(attempt_id: int) -> None:
    """Act on the end of a training attempt: seal the run, fail the submission, or try again."""
    attempt = steps.ended(attempt_id, Attempt.Kind.TRAIN)
    if attempt is None:
        return
    run, ending = attempt.run, ending_of(attempt)
    if ending.whose == "script":
        steps.fail(attempt, ending)
    elif ending.whose == "platform":
        steps.repeat(attempt, ending)
    else:
        steps.note_use(attempt)
        of_run.seal(run, attempt, checkpoint_sha256=attempt.receipt.body["checkpoint_sha256"])
        steps.first_attempt_at(run, Attempt.Kind.SCORE, PUBLIC)
        steps.begin_scoring(run.submission)


@task("pipeline.score")
def score(attempt_id: int) -> None:
    """Act on the end of a scoring attempt: write the one Score of its run and shard, fail, or try again."""
    attempt = steps.ended(attempt_id, Attempt.Kind.SCORE)
    if attempt is None:
        return
    run, ending = attempt.run, ending_of(attempt)
    if ending.whose == "script":
        steps.fail(attempt, ending)
    elif ending.whose == "platform":
        steps.repeat(attempt, ending)
    else:
        numbers = attempt.receipt.body["score"]
        fields = ("total_nats", "num_bytes", "num_tokens", "bpb")
        of_run.record_score(run, attempt, {field: numbers[field] for field in fields})
        publish(run.submission_id)


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
    values = list(found.values_list("bpb", flat=True))
    if len(values) != len(runs) or not all(math.isfinite(bpb) and 0 < bpb <= 64 for bpb in values):
        log.error("submission %s has scored runs without a score each", submission_id)
        return
    steps.begin_scoring(submission)
    mean = math.fsum(values) / len(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    transitions.rank(submission, mean=mean, sd=sd, n=len(values))


@task("pipeline.reap")
def reap() -> None:
    """Look for what is stuck; see reaper.py."""
    from leaderboard.pipeline.reaper import reap as look

    look()
