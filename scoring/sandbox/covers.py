"""Covers what /proc tells of the whole host, from outside, when a sandbox stands and its program does not run yet.

bubblewrap could do it, but it reads the whole table of mounts once for each mount that it makes: for the forty of
these that took 8 ms of every start, and here it takes one. A child of the guard enters the sandbox's user namespace
and then its mounts. So it has the rights that bubblewrap had in there, has left those of the runner outside, and is
seen by nobody inside; the program starts when it has said that it is done. That lives in a user namespace further down,
without a capability, and can take no cover off.
"""

import ctypes
import fcntl
import os
import socket

from scoring.sandbox import hostfiles
from scoring.sandbox.prelude import MS_BIND, MS_NODEV, MS_NOSUID, check, mount

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOEXEC, _MS_REMOUNT = 1, 8, 32
_SEALED = _MS_RDONLY | _MS_NOEXEC | MS_NOSUID | MS_NODEV
_NS_GET_USERNS = 0xB701
DONE = b"covered"

_libc = ctypes.CDLL(None, use_errno=True)


def serve(line: socket.socket) -> None:
    """Cover the sandbox whose init's process id comes over `line`, and say DONE there, or what is wrong."""
    files, folders = hostfiles.proc_covers()  # read while bubblewrap works
    asked = line.recv(32)
    if not asked:
        return  # the runner is gone
    try:
        _enter(int(asked))
        _cover(files, folders)
        line.send(DONE)
    except Exception as error:
        line.send(str(error).encode()[:500])


def _enter(pid: int) -> None:
    mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(mounts, _NS_GET_USERNS)  # init's own is one further down, and may not mount
    check(_libc.setns(owner, _CLONE_NEWUSER), "setns user")
    check(_libc.setns(mounts, _CLONE_NEWNS), "setns mnt")


def _cover(files: list[str], folders: list[str]) -> None:
    """Put one read-only /dev/null over all `files`, and one empty read-only folder over all `folders`.

    A bind of a mount has that mount's flags, so each kind is sealed once. Without devices /dev/null cannot be opened.
    """
    file, folder = files[0], folders[0]
    mount("/dev/null", file, None, MS_BIND)
    mount("none", file, None, MS_BIND | _MS_REMOUNT | _SEALED)
    mount("empty", folder, "tmpfs", _SEALED, "size=4096,mode=0555")
    for source, others in ((file, files[1:]), (folder, folders[1:])):
        for other in others:
            mount(source, other, None, MS_BIND)
