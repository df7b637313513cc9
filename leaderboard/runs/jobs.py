"""What a host is asked: the job of an attempt, from the phase's rules and the submission's frozen parts alone."""

from typing import Any

from django.utils.crypto import salted_hmac

from leaderboard.competitions.launch import default_launch
from leaderboard.competitions.models import Phase
from leaderboard.competitions.spec import PhaseSpec
from leaderboard.runs.models import Attempt, Reference
from leaderboard.submissions.models import Submission
from scoring.job import Job, Probes

MEGABYTE = 2**20
PUBLIC, PRIVATE = "public", "private"
AGAIN_POWER = 10  # of entries inside the cut, before the release


def job_for(attempt: Attempt) -> dict[str, Any]:
    """Return the job of an attempt, checked by the runner's own model; `host` is empty, the agent fills it in.

    Raises pydantic.ValidationError where the phase asks for something that no runner accepts.
    """
    run, submission = attempt.run, attempt.run.submission
    phase = submission.phase
    job = Job.model_validate(
        {
            "schema": 1,
            "kind": attempt.kind,
            "run_id": f"r{run.pk:06d}",
            "attempt_id": name_of(attempt),
            "script_sha256": submission.script_sha256,
            "seed": run.seed,
            "launch": submission.launch_spec,
            "isolation": phase.rules.isolation,
            "clock": _clock(phase.rules),
            "limits": _limits(phase.rules),
            "evaluation": _evaluation(phase),
            "kit_sha256": submission.kit.sha256,
            "shards": _shards(submission, attempt.shard),
            "checkpoint_sha256": run.checkpoint_sha256 if attempt.kind == Attempt.Kind.SCORE else None,
            "probes": probes_of(attempt) if attempt.kind == Attempt.Kind.SCORE else None,
        }
    )
    return job.model_dump(mode="json", by_alias=True)


def name_of(attempt: Attempt) -> str:
    """Return what jobs and receipts call an attempt.

    Not by its number: a team that reads two receipts of its own would know how many attempts were begun between them,
    hidden ones too.
    """
    return "a" + salted_hmac("holdout.attempt", str(attempt.pk), algorithm="sha256").hexdigest()[:16]


def longest_seconds(attempt: Attempt) -> float:
    """Return after how many seconds an attempt is overdue, however lively its host: a bound far above honest ends."""
    budget = attempt.run.submission.phase.rules.budget
    if attempt.kind == Attempt.Kind.SCORE:
        passes = Probes.model_validate(probes_of(attempt)).passes
        return 2 * (1 + passes) * budget.eval_timeout_seconds + 300
    return budget.startup_cap_seconds + budget.seconds + 300


def probes_of(attempt: Attempt) -> dict[str, Any]:
    """Return how a scoring attempt is probed: how often, and by the losses of which reference.

    The phase's own baseline, started as the phase starts scripts, makes the reference of a shard that has none yet.
    """
    submission = attempt.run.submission
    asked = submission.phase.rules.probes
    reference = Reference.objects.filter(phase=submission.phase_id, shard=attempt.shard).first()
    own = (asked.baseline_sha256, default_launch(submission.phase.rules.launch))
    baseline = (submission.script_sha256, submission.launch) == own
    return {
        "strict_per_row": asked.strict_per_row,
        "repeats": asked.repeats,
        "power": power_of(attempt),
        "reference_sha256": reference.sha256 if reference else None,
        "make_reference": bool(baseline and reference is None),
    }


def power_of(attempt: Attempt) -> int:
    """Return by what the phase's probes are multiplied: what is scored a second time is there to be probed harder."""
    return AGAIN_POWER if attempt.hidden and attempt.shard == PUBLIC else 1


def _clock(rules: PhaseSpec) -> dict[str, Any]:
    budget = rules.budget
    return {
        "budget_seconds": budget.seconds,
        "startup_cap_seconds": budget.startup_cap_seconds,
        "excluded_steps": budget.excluded_steps,
        "term_seconds": budget.term_seconds,
        "minimum_lease_share": budget.minimum_lease_share,
    }


def _limits(rules: PhaseSpec) -> dict[str, int]:
    limits = rules.limits
    return {
        "threads": rules.budget.threads,
        "memory_bytes": limits.memory_mb * MEGABYTE,
        "processes": limits.processes,
        "open_files": limits.open_files,
        "file_bytes": limits.file_mb * MEGABYTE,
        "output_bytes": limits.output_mb * MEGABYTE,
        "output_files": limits.output_files,
        "log_bytes": limits.log_mb * MEGABYTE,
        "tmp_bytes": limits.tmp_mb * MEGABYTE,
    }


def _evaluation(phase: Phase) -> dict[str, Any]:
    return {
        "seq_len": phase.rules.evaluation.seq_len,
        "batch_size": phase.rules.evaluation.batch_size,
        "vocab_size": phase.competition.shards.manifest["vocab_size"],
        "timeout_seconds": phase.rules.budget.eval_timeout_seconds,
    }


def _shards(submission: Submission, target: str) -> dict[str, Any]:
    shards = submission.phase.competition.shards
    return {
        "set": shards.name,
        "manifest_sha256": shards.manifest_sha256,
        "target": target or None,
        "commitment": shards.manifest[target]["commitment"] if target else None,
    }
