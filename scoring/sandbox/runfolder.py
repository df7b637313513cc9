"""The folder of one run: made fresh, never reused, removed, and seen to be gone.

A path variable that was unset once collapsed 8,192 run folders into one. So the path is built here from validated
ids, refused when anything is odd, and must not exist yet. The lock beside it tells a living run from what a killed
runner left; `sweep` removes the latter.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from scoring.sandbox import cgroups, pagecache
from scoring.sandbox.seal import remove_tree
from scoring.sandbox.spec import SandboxError

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{3,63}")


def folder_name(run_id: str, attempt_id: str) -> str:
    """Return the folder's name; ValueError for an empty or odd id, before anything is created."""
    for part in (run_id, attempt_id):
        if not _ID.fullmatch(part):
            raise ValueError(f"not an id: {part!r}")
    return f"{run_id}.{attempt_id}"


def sandbox_name(folder: Path, part: str) -> str:
    """Return the name of a sandbox of the run in `folder`; two state folders on one host never share one."""
    home = hashlib.sha256(str(folder.parent).encode()).hexdigest()[:8]
    return f"{folder.name}.{home}.{part}"


def _lock(path: Path) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


@contextlib.contextmanager
def fresh(runs_dir: Path, run_id: str, attempt_id: str) -> Iterator[Path]:
    """Make the run's folder, hand it out, remove it; SandboxError when it existed before or does not go away."""
    name = folder_name(run_id, attempt_id)
    if not runs_dir.is_absolute() or runs_dir == Path("/"):
        raise ValueError("the runs folder must be an absolute path below the root")
    runs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock_path = runs_dir / f".{name}.lock"
    lock = _lock(lock_path)
    if lock is None:
        raise SandboxError("this attempt is running already")
    folder = runs_dir / name
    try:
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise SandboxError(f"run folder {name} exists already") from None
        try:
            yield folder
        finally:
            remove_tree(folder)
            if os.path.lexists(folder):
                raise SandboxError(f"run folder {name} could not be removed")
    finally:
        lock_path.unlink(missing_ok=True)
        os.close(lock)


def sweep(runs_dir: Path) -> list[str]:
    """Remove the folders whose runner is dead (their lock is free) and return their names."""
    swept: list[str] = []
    if not runs_dir.is_dir():
        return swept
    for lock_path in runs_dir.glob(".*.lock"):
        name = lock_path.name[1:-5]
        lock = _lock(lock_path)
        if lock is None:
            continue
        try:
            _clear(runs_dir / name)
            lock_path.unlink(missing_ok=True)
            swept.append(name)
        finally:
            os.close(lock)
    return swept


def clear(runs_dir: Path) -> None:
    """Remove everything in `runs_dir`: what a killed agent left, folders without a lock and stray files included.

    For the start of a host's only agent, when no run of its own can be alive yet; a run that holds its lock is left
    alone all the same. Raises SandboxError when something does not go away.
    """
    sweep(runs_dir)
    living = {lock_path.name[1:-5] for lock_path in runs_dir.glob(".*.lock")}
    for left in list(runs_dir.iterdir()) if runs_dir.is_dir() else ():
        if left.name in living or left.name[1:-5] in living:
            continue
        if left.is_dir() and not left.is_symlink():
            _clear(left)
        else:
            left.unlink()


def _clear(folder: Path) -> None:
    """End what still lives in the control groups of the run in `folder`, then remove groups and folder.

    Where a model had been shown sealed text, what it read is forgotten, as its own runner would have done.
    """
    for part in ("train", "server", "scorer"):
        if not cgroups.sweep(sandbox_name(folder, part)):
            raise SandboxError(f"processes of the dead run {folder.name} do not go away")
    if (folder / pagecache.SHOWN).exists():
        pagecache.sweep(pagecache.common_sources())
    remove_tree(folder)
