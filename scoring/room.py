"""A disk that is full, told from every other fault of reading and writing.

It is nobody's script's doing, it passes, and there is one remedy, so it has an outcome of its own.
"""

import errno
import shutil

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: OSError) -> bool:
    """Return whether an operation failed for want of room; `shutil.Error` is many at once, kept as text."""
    if isinstance(error, shutil.Error):
        reasons = [str(failed[2]) for failed in error.args[0] if isinstance(failed, tuple)]
        return any(f"[Errno {number}]" in reason for number in _FULL for reason in reasons)
    return error.errno in _FULL
