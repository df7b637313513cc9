"""Stays beside one sandbox so that nothing of it outlives the runner, whenever that is killed.

    runner ── guard ── bubblewrap ── init (pid 1) ── program
       └─ line ─┘ └─ a child for a moment, which covers /proc (covers.py)

bubblewrap asks the kernel for death with its parent on both sides of its clone, but each side only after a while.
Killed in between (6 of 100 kills during the start), its child waits for ever for a word from the dead; and what a
killed runner had frozen, nobody thaws. So between the runner and bubblewrap stands a process that outlives the runner
by a moment. It holds one end of a socket whose other end is the runner's: end of file means that the runner is gone,
however it went. Orphans come to the guard (PR_SET_CHILD_SUBREAPER), so it ends when nothing is left, and not before.

It is a bare fork of the runner, never of the sandbox: it joins no control group and keeps the runner's rights. Its
child joins the sandbox's group by itself where that is quick. Where it is not, the guard moves it: the kernel lets that
wait for every CPU once (6 to 15 ms), and meanwhile the child binds and drops what it must.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from scoring.sandbox import covers
from scoring.sandbox.cgroups import Group

_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def between(line: int, group: Group, become: Callable[[int, Callable[[], None]], None]) -> Callable[[], None]:
    """Return the function to run between fork and exec: the child forks again and stays behind as the guard.

    `line` is the guard's end of the line; `become` prepares what is executed. It gets the guard's process id, and what
    to call when it needs to be in the group: that returns when the guard has moved it.
    """

    def run() -> None:
        own = os.getpid()
        if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        moved, say_moved = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(say_moved)
            if group.joined_from_inside:
                group.join()
            become(own, lambda: _hear(moved))
            return
        try:
            if not group.joined_from_inside:
                group.add(child)
            os.write(say_moved, b"m")
            _keep_only(line)
            _cover(line)
            _watch(child, line, group)
        finally:
            os._exit(0)

    return run


def _hear(moved: int) -> None:
    if not os.read(moved, 1):
        raise OSError("the sandbox could not be moved into its control group")


def _keep_only(line: int) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    os.closerange(0, line)  # the runner's locks and pipes must not live on here
    os.closerange(line + 1, os.sysconf("SC_OPEN_MAX"))


def _cover(line: int) -> None:
    """Return when the sandbox's /proc is covered, or the runner gone: in a child, because who enters loses all else."""
    helper = os.fork()
    if helper == 0:
        try:
            covers.serve(socket.socket(fileno=line))
        finally:
            os._exit(0)
    os.waitpid(helper, 0)


def _watch(child: int, line: int, group: Group) -> None:
    """Return when nothing of the sandbox is left, and at once see to that when the runner is gone."""
    poll = select.poll()
    for fd in (line, os.pidfd_open(child)):
        poll.register(fd, select.POLLIN)
    orphaned = any(fd == line for fd, _ in poll.poll())
    if orphaned:
        group.kill()
    _end_children()
    if orphaned:
        group.remove()


def _end_children() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        for pid in children.read_text(encoding="ascii").split():  # not reaped yet, so no number is another's by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return
