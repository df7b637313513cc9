"""Which user a sandbox is to the host: one of its own as long as it lives.

The kernel counts some things per user, over all namespaces: inotify instances, pages in pipes, descriptors that are
under way. Two sandboxes of one user could tell each other bits by using them up. So where the runner is root, each
trainer and each model server borrows a number that no other one has. A lock file per number keeps it, for all state
folders of this host; the kernel drops the lock with the runner. Which number it is tells nothing: it is drawn.

An ordinary user's sandboxes are all that user's own, and share its counters.
"""

import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from scoring.sandbox.spec import SLOTS, SandboxError, Slot

LENT = range(61100, 62000)
_LOCKS = Path("/run/holdout/uids")


@dataclass
class User:
    """A user id, and the lock that keeps it ours; no lock where nothing was borrowed."""

    uid: int
    _lock: int | None = None

    def release(self) -> None:
        """Give the number back; a second call does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def user_for(slot: Slot) -> User:
    """Return the user that a sandbox of `slot` runs as. Raises SandboxError when every number is taken."""
    if os.geteuid() != 0:
        return User(os.getuid())
    return User(SLOTS[slot]) if slot in SLOTS else borrow(_LOCKS, LENT)


def borrow(locks: Path, numbers: range) -> User:
    """Lock a free number, at random. Raises SandboxError."""
    try:
        locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        first = secrets.randbelow(len(numbers))
        for uid in (*numbers[first:], *numbers[:first]):
            lock = os.open(locks / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return User(uid, lock)
    except OSError as error:
        raise SandboxError(f"no user id can be borrowed: {error}") from None
    raise SandboxError(f"all user ids from {numbers.start} to {numbers.stop - 1} are in use")
