"""From logits to nats. The only place on the platform that looks at what a model said.

The scorer normalises over all V tokens itself, in float64, so a model can only state logits: a probability that is
unnormalised, or computed for the target alone, cannot be expressed. That holds for logits of any size: the largest one
is taken away from all before anything is added, and the loss is ln Σ exp(l - top) + (top - target). Were top added to
the logarithm first, at 1e17 it would round ln V away, and an even guess would cost nothing.
"""

from __future__ import annotations

import torch

PIECE_BYTES = 2 * 2**20  # float64 copies of this size stay in the cache of a core


class NonFinite(Exception):
    """A logit, or a loss made from finite logits, is NaN or infinite."""


def measure(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute -ln softmax(logits)[target] at every position, and the larger of |top logit| and |target's logit|.

    logits [P, V] of any floating type, targets [P] int64 → nats and sizes, float64 [P]. Every logit has to be finite,
    at positions that are not scored too; minus infinity counts as not finite. Raises NonFinite.
    """
    low, high = torch.aminmax(logits)  # both are NaN where any logit is
    if not (torch.isfinite(low) and torch.isfinite(high)):
        raise NonFinite
    nats, sizes = torch.empty((2, len(targets), 1), dtype=torch.float64)
    step = max(1, PIECE_BYTES // (8 * logits.shape[1]))
    # One place for all steps: memory fresh from the kernel costs more than the exponentials.
    room = torch.empty((min(step, len(targets)), logits.shape[1]), dtype=torch.float64)
    for start in range(0, len(targets), step):
        piece = slice(start, start + step)
        wide = room[: len(targets[piece])].copy_(logits[piece])
        top = wide.amax(dim=1, keepdim=True)
        torch.maximum(top.abs(), wide.gather(1, targets[piece, None]).abs_(), out=sizes[piece])
        chosen = wide.sub_(top).gather(1, targets[piece, None])
        torch.sub(wide.exp_().sum(dim=1, keepdim=True).log_(), chosen, out=nats[piece])
    nats = nats.squeeze(1)
    if not torch.isfinite(nats).all():  # 1e308 minus -1e308
        raise NonFinite
    return nats, sizes.squeeze(1)


def position_nats(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Compute the nats of `measure` alone."""
    return measure(logits, targets)[0]
