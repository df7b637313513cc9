"""A disk of its own for a folder, that can be made full and roomy again in an instant: a tmpfs of another size.

Only root may mount. An ordinary user's tests that need one are skipped, and say why.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOM = "2g"  # no memory is taken before it is used
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
        remount = ["mount", "-o", f"remount,size={size}", self.folder]
        return subprocess.run(remount, stderr=subprocess.DEVNULL, check=False).returncode == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount an empty disk on an existing folder; it goes away with the context, with all that is on it."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "holdout-test", folder], check=True)
    try:
        (folder / ".disk").write_text("A size of nothing would be none.\n")
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
