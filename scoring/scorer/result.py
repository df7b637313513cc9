"""What scoring came to, as the tables of a receipt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scoring import bpb
from scoring.scorer.channel import ScoreFailed
from scoring.scorer.verdict import Verdict


@dataclass(frozen=True)
class Probed:
    """A verdict on server P's answers, and the seconds that it took to answer; an empty one where nothing was asked."""

    verdict: Verdict
    seconds: float


@dataclass(frozen=True)
class Result:
    """A score, and what probes say of it."""

    score: bpb.Score
    probed: Probed

    @property
    def breaches(self) -> list[str]:
        """Name kind and count of what breached; empty for a score that stands."""
        return self.probed.verdict.breaches

    def score_table(self) -> dict[str, Any]:
        """Give the receipt's `score`. Raises ScoreFailed when what would be published is no score."""
        gained, error = self.probed.verdict.correction, self.probed.verdict.correction_se
        try:
            published = bpb.published(self.score.bpb, gained, error)
        except bpb.BadMetric:
            raise ScoreFailed("bad_metric") from None
        return {**self.score.to_json(), "correction": gained, "correction_se": error, "published_bpb": published}

    def probe_table(self) -> dict[str, Any]:
        """Give the receipt's `probes` without the settings, which the runner knows."""
        verdict = self.probed.verdict
        return {
            "tolerance": verdict.tolerance,
            "seconds": self.probed.seconds,
            "cost": self.probed.seconds / self.score.seconds,
            "strict": verdict.strict,
            "repeat": verdict.repeat,
            "mean_p": verdict.mean_p,
            "evidence": verdict.evidence,
        }
