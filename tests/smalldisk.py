"""A disk of its own for a folder, that can be made full and roomy again in an instant: a tmpfs of another size.

Only root may mount. An ordinary user's tests that need one are skipped, and say why.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.servers import NOBODY, address, postgresql

ROOM = "2g"  # no memory is taken before it is used
MS_REMOUNT = 32
WHY_NOT = "only root may mount a small disk"


def may_mount() -> bool:
    return os.geteuid() == 0


@dataclass(frozen=True)
class SmallDisk:
    """A tmpfs at `folder`."""

    folder: Path

    @contextmanager
    def full(self, spare: int = 0) -> Iterator[None]:
        """Leave `spare` bytes free for a while."""
        while not self._resize(str(self.used() + spare)):  # somebody wrote on it meanwhile
            pass
        try:
            yield
        finally:
            assert self._resize(ROOM)

    def used(self) -> int:
        """Return the bytes in use."""
        status = os.statvfs(self.folder)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _resize(self, size: str) -> bool:
        # The call itself: the command repeats the options that it finds, and in a user namespace may not.
        flags, options = ctypes.c_ulong(MS_REMOUNT), f"size={size}".encode()
        return ctypes.CDLL(None).mount(None, bytes(self.folder), None, flags, options) == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount an empty disk on an existing folder; it goes away with the context, with all that is on it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "holdout-test", folder], check=True)
    try:
        (folder / ".disk").write_text("A size of nothing would be none.\n")
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def small_database(name: str) -> Iterator[tuple[str, SmallDisk]]:
    """Make a database whose tables lie on a disk of their own, and return its address; the server itself has room."""
    folder = postgresql() / f"{name}-disk"
    folder.mkdir()
    with small_disk(folder) as disk, psycopg.connect(address("postgres"), autocommit=True) as server:
        tables = folder / "tables"
        tables.mkdir()
        for place in (folder, tables):
            os.chown(place, NOBODY, NOBODY)
        server.execute(f"CREATE TABLESPACE \"{name}\" LOCATION '{tables}'".encode())
        server.execute(f'CREATE DATABASE "{name}" TABLESPACE "{name}"'.encode())
        try:
            yield address(name), disk
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
            server.execute(f'DROP TABLESPACE "{name}"'.encode())
