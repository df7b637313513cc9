"""Secrets as they are kept: random ones as their hash, those that must be read again in files of our user's alone."""

import hashlib
import os
from pathlib import Path


def digest(text: str) -> str:
    """Return the form under which tokens, keys and capabilities are kept: hex SHA-256.

    They are 256 random bits, so a plain hash cannot be searched.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def write_private(path: Path, text: str) -> None:
    """Write a file that only our user can read, in one step: after a crash it is the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)  # there is one only where that failed
