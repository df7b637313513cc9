"""A runner may be killed at any moment; nothing of its sandbox may be left."""

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scoring.sandbox import box, cgroups
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox

PATIENCE = 20.0


def marked(mark: str) -> list[str]:
    """Return the processes that have `mark` in their command line, the dead left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


def left_of(mark: str) -> list[str]:
    """Return what of `mark` is still there when it has had time to go."""
    deadline = time.monotonic() + PATIENCE
    while (left := marked(mark)) and time.monotonic() < deadline:
        os.sched_yield()
    return left


def runner(mark: str, then: Callable[[box.Box], object]) -> int:
    """Fork a process that starts a sandbox which never ends, and does `then` with it; return its id."""
    spec = inside.spec(f"'{mark}'\nwhile True: pass", name=mark)
    pid = os.fork()
    if pid == 0:
        try:
            sandbox = box.start(spec)
            sandbox.go()
            then(sandbox)
            signal.pause()
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_runner_killed_at_any_moment_of_the_start_leaves_nothing() -> None:
    begun = time.monotonic()
    box.start(inside.spec("")).close()
    span = time.monotonic() - begun
    moments = 60
    for moment in range(moments):
        mark = f"test.{os.getpid()}.moment-{moment}"
        pid = runner(mark, lambda _: None)
        pidfd = os.pidfd_open(pid)
        ended, _, _ = select.select([pidfd], [], [], span * moment / moments)
        os.close(pidfd)
        assert not ended, "the sandbox did not start"
        kill(pid)
        left = left_of(mark)
        cgroups.sweep(mark)
        assert not left, f"killed after {span * moment / moments:.4f} s of {span:.4f}"


def test_what_the_runner_had_frozen_is_thawed_and_ended() -> None:
    mark = f"test.{os.getpid()}.frozen"
    told, tell = os.pipe()

    def freeze(sandbox: box.Box) -> None:
        sandbox.group.freeze(True)
        os.write(tell, "\n".join(map(str, {*sandbox.group.folders.values()})).encode() or b"\n")

    pid = runner(mark, freeze)
    os.close(tell)
    folders = [Path(line) for line in os.read(told, 4096).decode().split()]
    os.close(told)
    assert all(folder.is_dir() for folder in folders)
    assert marked(mark)
    kill(pid)
    try:
        assert not left_of(mark)
        deadline = time.monotonic() + PATIENCE
        while any(folder.exists() for folder in folders) and time.monotonic() < deadline:
            os.sched_yield()
        assert not any(folder.exists() for folder in folders)
    finally:
        cgroups.sweep(mark)
