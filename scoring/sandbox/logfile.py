"""A training log on its way out: capped, hashed, its last words kept."""

import hashlib
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Self

_TAIL = 16_384
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\u00a0-\U0010ffff]")


class LogFile:
    """Appends to a new file up to `cap` bytes; a context manager."""

    def __init__(self, path: Path, cap: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.cap, self.size, self.full = cap, 0, False
        self._digest, self._tail = hashlib.sha256(), b""

    def write(self, chunk: bytes) -> None:
        """Append what fits; `full` is True from the first byte that did not."""
        kept = chunk[: self.cap - self.size]
        self.full = self.full or len(kept) < len(chunk)
        self._tail = (self._tail + chunk)[-_TAIL:]
        if kept:
            left = memoryview(kept)
            while left:  # a disk that is nearly full takes a part, and says so only when asked for the rest
                left = left[os.write(self._fd, left) :]
            self._digest.update(kept)
            self.size += len(kept)

    @property
    def sha256(self) -> str:
        """Return the hash of what was kept."""
        return self._digest.hexdigest()

    def last_words(self, limit: int = 1200) -> str:
        """Return the last traceback, or the last lines, printable and at most `limit` characters long."""
        text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", self._tail.decode("utf-8", errors="replace")).strip()
        start = text.rfind("Traceback (most recent call last)")
        words = text[start:] if start >= 0 else "\n".join(text.splitlines()[-5:])
        return words if len(words) <= limit else "…" + words[1 - limit :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._fd)
