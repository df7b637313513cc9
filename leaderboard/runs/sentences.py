"""What a submission's history says of its runs, in sentences; "" where its own states say it all."""

from leaderboard.runs.models import Attempt, Run


def ended_by_us(why: str, *, again: bool) -> str:
    """Say that an end was ours, why, and that the run starts again where it does."""
    return f"{why} (ours)" + ("; the run starts again with the same seed." if again else ".")


def begun(attempt: Attempt) -> str:
    """Say that a host has begun an attempt."""
    verb = "trains" if attempt.kind == Attempt.Kind.TRAIN else "is being scored"
    if attempt.number > 1:
        return f"Run {attempt.run.index + 1} {verb}, attempt {attempt.number}."
    return of_several(attempt.run, verb)


def lost(attempt: Attempt, cause: str) -> str:
    """Say that an attempt's host was lost, and how far it had come; or that it had no room."""
    if cause == "host_full":
        return "The host's disk was full (ours). Your quota is untouched."
    where = f" at step {attempt.run.step:,}" if attempt.kind == Attempt.Kind.TRAIN and attempt.run.step else ""
    return f"The host was lost{where} (ours). Your quota is untouched."


def of_several(run: Run, does: str) -> str:
    """Say what one run of several does; of a single one there is nothing to say beside its submission."""
    several = Run.objects.filter(submission_id=run.submission_id).count() > 1
    return f"Run {run.index + 1} {does}." if several else ""
