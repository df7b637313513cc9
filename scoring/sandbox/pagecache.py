"""Makes the kernel forget which files a dead sandbox has read.

A model server sees sealed text, and every sandbox of this host reads the same system and packages. Whoever reads a file
that lay on disk alone leaves it in memory, and whoever reads it next can tell by the time that takes: files are bits.
So when a model server has ended, and before anything that could speak to its team starts after it, all that it brought
in is dropped again. Where a memory controller counted its pages, the kernel drops exactly those, and the names that it
looked up with them (10 ms; what others had read before stays). Elsewhere every file that it could read is dropped, by
advice that anybody may give who can read it: seconds, for a hundred thousand files.

What remains: a sandbox that runs at the same time as the server can watch what it reads. Without a memory controller
names that do not exist leave their mark too, and pages that a living process has mapped stay, those included that the
kernel mapped for it because the server had brought them in. The processor's own caches are nobody's to empty.
"""

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from scoring.sandbox import hostfiles, interpreter
from scoring.sandbox.cgroups import Group
from scoring.sandbox.spec import Bind

SHOWN = "sealed-text-was-shown"  # a file in the run folder: whoever finds it in a dead run's has this left to do


def forget(group: Group, sources: Iterable[Path]) -> None:
    """Forget what a sandbox read that is dead: `group` is its control group, `sources` what was mounted inside."""
    if not group.forget():
        sweep(sources)


def common_sources() -> tuple[Path, ...]:
    """Return what every sandbox of this host can read, whatever its work."""
    mounts = (*hostfiles.system_mounts(), *interpreter.mounts())
    return tuple(mount.source for mount in mounts if isinstance(mount, Bind))


def sweep(sources: Iterable[Path]) -> int:
    """Drop every file at or below `sources` from the page cache that can be read; return how many those are."""
    count = 0
    for path in (path for source in sources for path in _files(source)):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # gone, or not to be read by the same user inside either
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            count += 1
        finally:
            os.close(file)
    return count


@cache  # a walk takes as long as a sweep, and nothing inside can add a file
def _files(source: Path) -> tuple[str, ...]:
    return (str(source),) if source.is_file() else tuple(_walk(str(source)))


def _walk(top: str) -> Iterator[str]:
    folders = [top]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue
