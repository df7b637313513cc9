"""Kits: the organizer's files beside the script, copied once and known by the hash of their content."""

import os
import secrets
import shutil
import stat
from pathlib import Path

from leaderboard.env import env
from scoring.kits import kit_sha256

MAX_BYTES, MAX_FILES = 64 * 2**20, 500
REQUIRED, TAKEN = "prepare.py", "train.py"


class KitError(ValueError):
    """A folder that cannot be a kit, in a sentence."""


def kit_path(sha256: str) -> Path:
    """Return where the copy of a kit is kept."""
    return env().home / "kits" / sha256


def store(folder: Path) -> str:
    """Copy a kit folder into the state folder and return its hash; the same content is copied once.

    Raises KitError for a folder without prepare.py, with links or special files, or too large.
    """
    files = _files(folder)
    sha256 = kit_sha256(files)
    target = kit_path(sha256)
    if target.exists():
        if kit_sha256(_files(target)) != sha256:
            raise KitError(f"the stored copy {target} was changed; remove it and load again")
        return sha256
    fresh = target.with_name(f".{sha256}.{secrets.token_hex(4)}")
    try:
        for name, content in files.items():
            copy = fresh / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            copy.chmod(0o444)
        fresh.rename(target)  # in one step: a folder of that name is whole
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not target.is_dir():
            raise
    return sha256


def _files(folder: Path) -> dict[str, bytes]:
    """Read a kit: name -> content. Caches and the empty marks of Python packages are no part of it."""
    if not folder.is_dir():
        raise KitError(f"there is no folder {folder}")
    files: dict[str, bytes] = {}
    size = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for path in (Path(root, name) for name in [*folders, *names]):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) or path.name.startswith(".") or path.suffix == ".pyc":
                continue
            name = path.relative_to(folder).as_posix()
            if not stat.S_ISREG(mode):
                raise KitError(f"{name} is a link or a special file; a kit has plain files only")
            size += path.lstat().st_size
            if size > MAX_BYTES or len(files) >= MAX_FILES:
                raise KitError(f"a kit has at most {MAX_FILES} files of {MAX_BYTES // 2**20} MiB together")
            content = path.read_bytes()
            if content or path.name != "__init__.py":
                files[name] = content
    if REQUIRED not in files:
        raise KitError(f"{folder} has no {REQUIRED}, which scripts import")
    if TAKEN in files:
        raise KitError(f"a kit may not bring a {TAKEN}: that is the competitor's file")
    return files
