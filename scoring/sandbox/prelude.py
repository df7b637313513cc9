"""Becomes a nobody, in the child between fork and exec.

Started by root, bubblewrap with a mapped uid is still uid 0 to the host, and the host's /proc/sys is then writable
from inside. So a root runner first turns into a real unprivileged number. That number cannot walk through a 0700
folder, and interpreter, clone and run folders may all lie below one. Therefore, while still root:

    1. leave the host's mount namespace (nothing below shows outside, and it goes away with the process)
    2. a small tmpfs on an empty folder of the system: the stage
    3. every source that the sandbox will need is bound onto the stage
    4. drop groups, gid, uid; ask to be killed with the parent (a change of uid clears that wish, so it comes last)
    5. exec bubblewrap, which finds its sources on the stage

An ordinary user skips 1 to 3 and has nothing to drop. It is the same as `unshare -m`, `mount --bind`, `setpriv`, done
by system calls because each of those programs would cost a few milliseconds of every start.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scoring.sandbox.spec import SandboxError

_CLONE_NEWNS = 0x00020000
_MNT_DETACH = 2
MS_NOSUID, MS_NODEV, MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_STAGES = ("/mnt", "/media", "/srv", "/opt")
# Readable by everybody on any distribution, so they need no stage.
_SYSTEM = frozenset(("usr", "dev", "etc", "lib", "lib32", "lib64", "libx32", "bin", "sbin"))

_libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError for what a call of libc has answered, unless that is 0."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Call mount(2). Raises OSError."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    check(_libc.mount(*encoded, ctypes.c_ulong(flags), data.encode() if data else None), f"mount {target}")


def die_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies; exits at once when that has happened already."""
    check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(1)


def choose_stage(avoid: tuple[Path, ...]) -> str:
    """Return an existing folder of the system below which none of `avoid` lies; SandboxError when there is none."""
    for name in _STAGES:
        if os.path.isdir(name) and not any(path.is_relative_to(name) for path in avoid):
            return name
    raise SandboxError("no empty folder for the stage: mkdir -p /mnt, and keep the project elsewhere")


@dataclass
class Stage:
    """Maps host paths to where the nobody can reach them; filled in the child, planned in the parent."""

    root: bool
    avoid: tuple[Path, ...] = ()  # the stage covers its folder, so no source may lie below it
    folder: str = ""
    _sources: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.root:
            self.folder = choose_stage(self.avoid)

    def __call__(self, source: Path) -> str:
        """Return the path to give to bubblewrap for `source`; system files go as they are."""
        if not self.root or (len(source.parts) > 1 and source.parts[1] in _SYSTEM):
            return str(source)
        return self._sources.setdefault(source, f"{self.folder}/{len(self._sources)}")

    def fill(self) -> None:
        """Steps 1 to 3, in the child."""
        check(_libc.unshare(_CLONE_NEWNS), "unshare")
        mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        # Nothing inside comes from there, and bubblewrap reads the whole table of mounts once for each that it makes:
        # the dozen below /sys took 2 ms of every start. Where there is none, there is nothing to do.
        _libc.umount2(b"/sys", _MNT_DETACH)
        mount("stage", self.folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
        for source, target in self._sources.items():
            if source.is_dir():
                os.mkdir(target, 0o755)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            mount(str(source), target, None, MS_BIND | _MS_REC)


def become_nobody(stage: Stage, uid: int, cpus: tuple[int, ...]) -> Callable[[int, Callable[[], None]], None]:
    """Return the function to run in the child: sheds every right, and takes its CPUs once it is in its control group.

    Its arguments are the process id of the parent with whom it is to die, and what waits until it is in the group.
    """

    def run(parent: int, await_group: Callable[[], None]) -> None:
        if stage.root:
            stage.fill()
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
        die_with_parent(parent)
        await_group()
        if cpus:
            os.sched_setaffinity(0, cpus)  # after the move: a cpuset gives its own

    return run
