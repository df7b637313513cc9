"""How far two answers to the same question may lie apart before they count as different.

A CPU computes a row the same way whatever stands beside it: measured differences are 0, bit for bit. Accelerators
choose kernels and orders of summation by what is around; a step of bfloat16 between 8 and 16 is 0.0625.
"""

from __future__ import annotations

import math

import torch

CPU, ACCELERATOR = 1e-5, 0.02
STEPS = 2


def tolerance(device: str, dtype: torch.dtype, largest_logit: float) -> float:
    """Give the tolerance of a row on a kind of device ("cpu", or any accelerator), in nats or units of logits."""
    if device == "cpu":
        return CPU
    if largest_logit <= 0:
        return ACCELERATOR
    step = torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(largest_logit))
    return max(ACCELERATOR, STEPS * step)
