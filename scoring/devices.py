"""Exclusive leases of CPUs on this host.

One file per CPU, locked with flock for as long as the lease lives. The kernel drops the lock with the process, so a
killed runner frees its CPUs and no clean-up can be forgotten. All runners of one state folder share the lease folder;
two agents with different state folders on one machine do not see each other (contention then shows on the receipt).
"""

import errno
import fcntl
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


class NoDevice(Exception):
    """The host has too few CPUs, or none became free in time."""


@dataclass
class Lease:
    """CPUs that nobody else of this state folder uses; a context manager that gives them back."""

    cpus: tuple[int, ...]
    _locks: tuple[int, ...]

    def release(self) -> None:
        """Give the CPUs back; a second call does nothing."""
        locks, self._locks = self._locks, ()
        for fd in locks:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


def _try_lock(path: Path) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        raise
    return fd


def _try_acquire(count: int, folder: Path, usable: list[int]) -> Lease | None:
    cpus: list[int] = []
    locks: list[int] = []
    for cpu in usable:
        if (fd := _try_lock(folder / f"cpu-{cpu}.lock")) is not None:
            cpus.append(cpu)
            locks.append(fd)
            if len(cpus) == count:
                return Lease(tuple(cpus), tuple(locks))
    for fd in locks:  # all or nothing: half a lease held while waiting for the rest is a deadlock between two runners
        os.close(fd)
    return None


def acquire(count: int, folder: Path, wait_seconds: float = 0.0) -> Lease:
    """Lease `count` CPUs of this process's affinity mask, waiting up to `wait_seconds` (seconds) for them.

    `folder` keeps the lock files and is made when missing. Raises NoDevice.
    """
    usable = sorted(os.sched_getaffinity(0))
    if count < 1 or count > len(usable):
        raise NoDevice(f"this host lends {len(usable)} CPUs; the run needs {count}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_seconds
    pause = threading.Event()
    while (lease := _try_acquire(count, folder, usable)) is None:
        if time.monotonic() >= deadline:
            raise NoDevice(f"no {count} free CPUs within {wait_seconds:.0f} s")
        pause.wait(0.05)
    return lease
