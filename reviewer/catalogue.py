"""Every rule by its code: its name, how severe a finding of it is where a competition says nothing, and its class.

One rule is one file: `K101 env-read` is the class EnvRead in `rules/k101_env_read.py`. So the list imports no rule,
and no rule repeats it.
"""

from __future__ import annotations

from reviewer.report import Severity

CATALOGUE: dict[str, tuple[str, Severity]] = {
    # Knobs: the scored model must be in the file.
    "K101": ("env-read", "reject"),
    "K102": ("cli-flag", "review"),
    "K103": ("config-file-read", "reject"),
    "K104": ("host-dependent-branch", "review"),
    "K105": ("knob-growth", "warn"),
    # Evaluation path: one model, one arithmetic.
    "E201": ("eval-fork", "reject"),
    "E202": ("eval-only-model", "reject"),
    "E203": ("eval-selected-weights", "review"),
    "E204": ("eval-only-logit-transform", "reject"),
    "E205": ("reads-validation-split", "reject"),
    "E206": ("adapts-at-evaluation", "reject"),
    "E207": ("stateful-forward", "review"),
    "E208": ("batch-dependent-forward", "review"),
    "E209": ("target-in-key", "reject"),
    "E210": ("loss-selected-by-truth", "reject"),
    # Data.
    "D301": ("network", "reject"),
    "D302": ("pretrained-or-hub", "reject"),
    "D303": ("outside-path", "reject"),
    "D304": ("bypasses-kit-loader", "review"),
    "D305": ("unsafe-load", "review"),
    "D306": ("embedded-data", "review"),
    # Tampering.
    "S401": ("dynamic-code", "reject"),
    "S402": ("process-spawn", "reject"),
    "S403": ("native-code", "review"),
    "S404": ("monkeypatch", "reject"),
    "S405": ("introspection", "reject"),
    "S406": ("late-hooks", "review"),
    "S407": ("writes-outside-output", "reject"),
    "S408": ("reads-own-source", "info"),
    # Clock and budget.
    "C501": ("step-boundary", "reject"),
    "C502": ("clock-shadowed", "reject"),
    "C503": ("kit-constant-reassigned", "reject"),
    "C504": ("partial-hardware", "reject"),
    "C505": ("compiler-flags-differ", "review"),
    # Readability and honesty.
    "O601": ("packed-code", "review"),
    "O602": ("unreadable", "reject"),
    "H701": ("silent-fallback", "warn"),
    "H702": ("claim-contradicted", "review"),
    "H703": ("dead-code", "info"),
    "H704": ("seed-fixed", "warn"),
    # Sections and kinship.
    "F801": ("frozen-section", "reject"),
    "F802": ("kinship", "info"),
    # Contract.
    "T901": ("no-load-for-eval", "reject"),
    "T902": ("runs-on-import", "reject"),
    "T903": ("no-checkpoint-written", "review"),
    "T904": ("launch-mismatch", "review"),
}


def module_of(code: str) -> str:
    """Return the name of the module, inside `reviewer.rules`, that holds a rule."""
    return f"{code.lower()}_{CATALOGUE[code][0].replace('-', '_')}"


def class_of(code: str) -> str:
    """Return the name of a rule's class."""
    return "".join(word.capitalize() for word in CATALOGUE[code][0].split("-"))
