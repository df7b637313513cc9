"""Reads step and loss out of a training log.

People print in many shapes; these are read: `step:12/300 train_loss:3.21 train_time:900ms step_avg:75.0ms`,
`step 12 loss 3.21`, `step 12/300 | loss: 3.21`, `step 00012/00300 (4.00%) | loss: 3.2 | dt: 9.1ms`. What does not
match is skipped: a log is a competitor's text and is never trusted for a score.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_STEP = re.compile(r"\bstep[:\s=]*(\d{1,9})\b", re.IGNORECASE)
_LOSS = re.compile(
    r"\b(?:(train|val|valid|validation)[_ ])?(loss|bpb)\b[:\s=]*([0-9]{1,6}(?:\.[0-9]{1,9})?(?:[eE][-+]?[0-9]{1,2})?)",
    re.IGNORECASE,
)
_MAX_LINE = 500


@dataclass(frozen=True)
class Point:
    """One loss at one step, as the script printed it (nats per token unless `unit` is bpb)."""

    step: int
    value: float
    split: Literal["train", "val"]
    unit: Literal["loss", "bpb"]


def points(lines: Iterable[str]) -> list[Point]:
    """Return the points of a log in the order printed; lines longer than 500 characters are not looked at."""
    found: list[Point] = []
    for line in lines:
        if len(line) > _MAX_LINE or not (step := _STEP.search(line)):
            continue
        for match in _LOSS.finditer(line):
            value = float(match[3])
            if math.isfinite(value):
                split: Literal["train", "val"] = "val" if (match[1] or "").lower().startswith("val") else "train"
                unit: Literal["loss", "bpb"] = "bpb" if match[2].lower() == "bpb" else "loss"
                found.append(Point(int(step[1]), value, split, unit))
    return found
