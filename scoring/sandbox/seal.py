"""Takes a checkpoint folder out of a dead sandbox.

Called only when nothing of the sandbox is alive, so nothing can be swapped between a look and a read. Still, nothing
is believed: names come from a directory that submitted code filled. Every entry is opened relative to its folder's
descriptor, without following links and without blocking on pipes, and must be a plain file with one name, or a folder,
on the same tmpfs. Anything else refuses the whole checkpoint.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_+=,@-][A-Za-z0-9._+=,@ -]{0,199}")
_MAX_DEPTH = 12
_SEALED_FOLDER = 0o555
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class UnsafeCheckpoint(Exception):
    """The folder holds something that is not a plain file with a plain name; the sentence is safe to show."""


@dataclass
class _Copy:
    device: int
    bytes_left: int
    files_left: int
    lines: list[tuple[str, int, str]] = field(default_factory=list)

    def take(self, source: int, target: Path, prefix: str, depth: int) -> None:
        """Copy the folder behind `source` into the new folder `target`."""
        if depth > _MAX_DEPTH:
            raise UnsafeCheckpoint(f"folders are nested deeper than {_MAX_DEPTH}")
        target.mkdir(mode=0o700)
        with os.scandir(source) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if not _NAME.fullmatch(name):
                raise UnsafeCheckpoint(f"a name holds characters that are not allowed: {name[:80]!a}")
            self.files_left -= 1
            if self.files_left < 0:
                raise UnsafeCheckpoint("too many files")
            self._take_entry(source, name, target / name, prefix + name, depth)

    def _take_entry(self, folder: int, name: str, target: Path, relative: str, depth: int) -> None:
        try:  # where the runner is no more than the script's own user, the script's modes bind it
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            is_folder = stat.S_ISDIR(status.st_mode)
            if not is_folder and not stat.S_ISREG(status.st_mode):
                raise UnsafeCheckpoint(f"{relative} is not a plain file")
            fd = os.open(name, _FOLDER if is_folder else _FILE, dir_fd=folder)
        except OSError as error:
            raise UnsafeCheckpoint(f"{relative} cannot be read ({error.strerror})") from None
        try:
            opened = os.fstat(fd)
            if (opened.st_dev, opened.st_ino) != (self.device, status.st_ino):
                raise UnsafeCheckpoint(f"{relative} is not on the output folder's own storage")
            if is_folder:
                self.take(fd, target, relative + "/", depth + 1)
            else:
                self._copy_file(fd, opened, target, relative)
        finally:
            os.close(fd)

    def _copy_file(self, fd: int, status: os.stat_result, target: Path, relative: str) -> None:
        if status.st_nlink != 1:
            raise UnsafeCheckpoint(f"{relative} has a second name (hard link)")
        self.bytes_left -= status.st_size  # the apparent size: a sparse file counts for what reading it would cost
        if self.bytes_left < 0:
            raise UnsafeCheckpoint("the files are larger than the output limit")
        digest, size = hashlib.sha256(), 0
        with open(target, "xb") as out:
            while chunk := os.read(fd, 1 << 20):
                digest.update(chunk)
                size += len(chunk)
                out.write(chunk)
        target.chmod(0o444)
        self.lines.append((relative, size, digest.hexdigest()))


def tree_sha256(lines: list[tuple[str, int, str]]) -> str:
    """Return the hash of a checkpoint: sha256 over sorted lines `name size sha256`, each ended by a newline."""
    text = "".join(f"{name} {size} {digest}\n" for name, size, digest in sorted(lines))
    return hashlib.sha256(text.encode()).hexdigest()


def copy_out(source: int, target: Path, *, max_bytes: int, max_files: int) -> str:
    """Copy the folder behind descriptor `source` to the new folder `target`; return its hash.

    Raises UnsafeCheckpoint and leaves nothing behind when anything but plain files and folders is found.
    """
    copy = _Copy(os.fstat(source).st_dev, max_bytes, max_files)
    try:
        copy.take(source, target, "", 0)
    except BaseException:
        remove_tree(target)
        raise
    return tree_sha256(copy.lines)


def seal(source: int, checkpoints: Path, attempt_id: str, *, max_bytes: int, max_files: int) -> str:
    """Copy the output folder behind `source` to `checkpoints`/<hash>, read-only, and return the hash."""
    checkpoints.mkdir(mode=0o700, parents=True, exist_ok=True)
    incoming = checkpoints / f".incoming-{attempt_id}"
    remove_tree(incoming)
    digest = copy_out(source, incoming, max_bytes=max_bytes, max_files=max_files)
    final = checkpoints / digest
    if final.exists():  # the same bytes from another run: content has one home
        remove_tree(incoming)
        return digest
    for folder, _, _ in os.walk(incoming, topdown=False):
        if folder != str(incoming):
            os.chmod(folder, _SEALED_FOLDER)
    try:
        incoming.rename(
            final
        )  # a folder must be writable to be renamed by an ordinary user, so its own mode comes last
    except OSError:
        remove_tree(incoming)
        if not final.is_dir():
            raise
    final.chmod(_SEALED_FOLDER)
    return digest


def remove_tree(folder: Path) -> None:
    """Remove a folder of ours, read-only parts included; quiet when it does not exist."""
    if not folder.exists():
        return
    for place, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(place, 0o700)
    shutil.rmtree(folder)
