"""Single facts of a receipt: numbers, counts, seconds, hashes. Each function returns the fact or raises bad_receipt."""

import math
from typing import Any

from leaderboard.core.errors import Refusal


def bad(why: str) -> Refusal:
    """Return the Refusal of a receipt that is not accepted."""
    return Refusal("bad_receipt", f"This receipt is not accepted: {why}.")


def number(value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise bad("a number is not finite")
    return float(value)


def seconds(value: Any) -> float:
    """Return a time span."""
    span = number(value)
    if not 0 <= span < 1e9:
        raise bad("seconds are out of range")
    return span


def count(value: Any) -> int:
    """Return a whole number that JSON keeps exactly."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise bad("a count is out of range")
    return value


def sha256(value: Any) -> str:
    """Return a SHA-256 in hex."""
    if not isinstance(value, str) or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise bad("a hash is not a SHA-256 in hex")
    return value
