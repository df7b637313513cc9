"""Training logs, one file per attempt below `HOLDOUT_HOME/blobs/logs`, written by offset and never beyond a cap."""

import fcntl
import os
from pathlib import Path

from leaderboard.env import env


def log_path(attempt_id: int) -> Path:
    """Return where the log of an attempt is kept; the id is a number, so the path cannot lead elsewhere."""
    return env().home / "blobs" / "logs" / f"{int(attempt_id)}.log"


def append_log(attempt_id: int, offset: int, data: bytes, cap: int) -> tuple[bool, int]:
    """Write `data` at byte `offset` and return whether it fitted on and the log's size, both in bytes.

    Idempotent: what is there already is not written again, so a repeated call changes nothing. An offset behind the
    end would leave a hole and is refused with (False, size). Bytes beyond `cap` are dropped.
    """
    path = log_path(attempt_id)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two requests for one log: the second sees what the first wrote
        size = os.fstat(file.fileno()).st_size
        if offset < 0 or offset > size:
            return False, size
        fresh = data[size - offset : max(cap - offset, 0)]
        if fresh:
            file.seek(size)
            file.write(fresh)
            size += len(fresh)
        return True, size


def read_log(attempt_id: int, offset: int = 0, limit: int = 64 * 1024) -> tuple[bytes, int]:
    """Return up to `limit` bytes from `offset` on, and the log's size; (b"", 0) where there is none."""
    try:
        with log_path(attempt_id).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(min(max(offset, 0), size))
            return file.read(limit), size
    except FileNotFoundError:
        return b"", 0
