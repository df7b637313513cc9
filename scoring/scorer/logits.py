"""From logits to nats. The only place on the platform that looks at what a model said.

The scorer normalises over all V tokens itself, in float64, so a model can only state logits: a probability that is
unnormalised, or computed for the target alone, cannot be expressed.
"""

from __future__ import annotations

import torch

PIECE_BYTES = 2 * 2**20  # float64 copies of this size stay in the cache of a core


class NonFinite(Exception):
    """A logit, or a loss made from finite logits, is NaN or infinite."""


def measure(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Compute -ln softmax(logits)[target] at every position, and the largest absolute logit.

    logits [P, V] of any floating type, targets [P] int64 → float64 [P], nats. Every logit has to be finite, at
    positions that are not scored too; minus infinity counts as not finite. Raises NonFinite.
    """
    low, high = torch.aminmax(logits)  # both are NaN where any logit is
    if not (torch.isfinite(low) and torch.isfinite(high)):
        raise NonFinite
    nats = torch.empty(len(targets), dtype=torch.float64)
    step = max(1, PIECE_BYTES // (8 * logits.shape[1]))
    for start in range(0, len(targets), step):
        piece = slice(start, start + step)
        wide = logits[piece].to(torch.float64)
        chosen = wide.gather(1, targets[piece, None]).squeeze(1)
        torch.sub(torch.logsumexp(wide, dim=1), chosen, out=nats[piece])
    if not torch.isfinite(nats).all():  # 1e308 minus -1e308
        raise NonFinite
    return nats, max(-float(low), float(high))


def position_nats(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Compute the nats of `measure` alone."""
    return measure(logits, targets)[0]
