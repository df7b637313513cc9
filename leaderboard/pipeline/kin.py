"""Takes the fingerprint of a submission once its audit is over."""

import logging
from typing import Any

from leaderboard.submissions import kinship
from leaderboard.submissions.models import Submission
from reviewer import Policy
from reviewer.similarity import fingerprint

log = logging.getLogger(__name__)


def take(submission: Submission, report: dict[str, Any]) -> None:
    """Keep the fingerprint of what a submission runs; whatever goes wrong is for the reaper, and stops nothing."""
    try:
        kinship.keep(submission, fingerprint(_text(submission, report), baselines(submission)))
    except Exception:
        log.exception("submission %s has no fingerprint yet", submission.pk)


def baselines(submission: Submission) -> list[str]:
    """Return the texts that everybody starts from: the policy's, and the phase's own where somebody has sent it."""
    policy, phase = Policy.from_mapping(submission.policy.body), submission.phase
    texts = [] if policy.baseline is None else [policy.baseline]
    texts += [accepted.text for section in policy.sections for accepted in section.accepted]
    if digest := phase.rules.probes.baseline_sha256:
        sent = Submission.objects.filter(phase__competition=phase.competition_id, script_sha256=digest)
        texts += [bytes(script).decode("utf-8", "replace") for script in sent.values_list("script", flat=True)[:1]]
    return texts


def _text(submission: Submission, report: dict[str, Any]) -> str | bytes:
    """Return the innermost text of a script that was packed, else the script."""
    inner = report.get("unpacked") or []
    return str(inner[-1]["text"]) if inner else bytes(submission.script)
