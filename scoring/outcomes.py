"""Why an attempt ended: one code each, whose doing it was, and the sentence its team reads.

script    a property of the submission; the submission fails and keeps its charge
team      the team's own wish
platform  ours; the attempt is repeated and costs nothing
"""

from dataclasses import dataclass
from typing import Literal

Owner = Literal["script", "team", "platform"]


@dataclass(frozen=True)
class Outcome:
    """One way to end: `code`, whose doing it is, and a sentence that is safe to show."""

    code: str
    owner: Owner
    sentence: str


OK = "ok"

_TABLE: tuple[tuple[str, Owner, str], ...] = (
    (OK, "script", "The run finished and left a checkpoint."),
    ("crash", "script", "The script stopped with an error."),
    (
        "over_budget",
        "script",
        "The run took longer than its budget; without calls of record_step_boundary its startup is charged too.",
    ),
    (
        "no_checkpoint",
        "script",
        "No checkpoint stood at out/final.pt when the run ended; save before the time is up, SIGTERM comes before it.",
    ),
    ("memory_limit", "script", "The run needed more memory than the phase allows."),
    ("output_limit", "script", "The run filled its output folder beyond the size or number of files allowed."),
    ("file_limit", "script", "The run wrote a single file larger than the phase allows."),
    ("log_limit", "script", "The run printed more than the phase's log limit."),
    ("process_limit", "script", "The run started more processes and threads than the phase allows."),
    (
        "unsafe_checkpoint",
        "script",
        "The output folder holds a link, device, pipe or odd name; only plain files may.",
    ),
    ("load_failed", "script", "The checkpoint could not be loaded by the script's load_for_eval."),
    ("wrong_shape", "script", "The model answered with logits of the wrong shape or type."),
    ("nonfinite", "script", "The model answered with logits that are not finite numbers."),
    ("eval_timeout", "script", "Scoring took longer than the phase's evaluation timeout."),
    ("model_crashed", "script", "The model stopped while it was being scored."),
    (
        "contract",
        "script",
        "The script does not keep to the contract: load_for_eval returns a model, record_step_boundary is for steps.",
    ),
    ("bad_metric", "script", "The score is outside the possible range of 0 to 64 bits per byte."),
    (
        "breach",
        "script",
        "The model answered otherwise when it was asked again without what follows a position, or in other company: "
        "its logits must depend on nothing but the tokens of the row up to each position.",
    ),
    ("cancelled", "team", "The run was cancelled."),
    ("host_fault", "platform", "The host failed."),
    ("host_full", "platform", "The host's disk was full."),
    ("contention", "platform", "Other programs on the host were busy, and the run got less of its CPUs than promised."),
    ("lost", "platform", "The host was lost during the run."),
)

OUTCOMES: dict[str, Outcome] = {row[0]: Outcome(*row) for row in _TABLE}


def of(code: str) -> Outcome:
    """Return the outcome of `code`; KeyError for a code that does not exist."""
    return OUTCOMES[code]
