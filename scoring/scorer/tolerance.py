"""How far two answers to the same question may lie apart before they count as different.

A CPU computes a row the same way whatever stands beside it: measured differences are 0, bit for bit. Accelerators
choose kernels and orders of summation by what is around; a step of bfloat16 between 8 and 16 is 0.0625.

A position is allowed steps of the size that its loss is made of: the larger of its top logit and its target's. No other
logit counts, or one that is never likely could be made so large that anything passes.
"""

from __future__ import annotations

import torch

CPU, ACCELERATOR = 1e-5, 0.02
STEPS = 2


def tolerance(device: str, dtype: torch.dtype, sizes: torch.Tensor) -> torch.Tensor:
    """Give what is allowed at each of `sizes`, float64 ≥ 0 of any shape, in nats or units of logits.

    `device` is "cpu" or any kind of accelerator, `dtype` the type that the logits were given in.
    """
    if device == "cpu":
        return torch.full_like(sizes, CPU)
    power = torch.frexp(sizes).exponent - 1  # ⌊log2 size⌋
    return (STEPS * torch.ldexp(torch.full_like(sizes, torch.finfo(dtype).eps), power)).clamp(min=ACCELERATOR)
