"""What /proc tells of the whole host is covered before the program starts, or it does not start."""

import os
from pathlib import Path

import pytest

from scoring.sandbox import box, hostfiles
from scoring.sandbox.spec import SandboxError
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox


def flags(pid: int) -> dict[str, set[str]]:
    """Return the mount points that a process has, each with its flags."""
    lines = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
    return {line.split()[4]: set(line.split()[5].split(",")) for line in lines}


def children() -> set[str]:
    """Return the processes that this one has started, those of other tests among them."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_every_cover_lies_sealed_before_the_program_starts() -> None:
    sandbox = box.start(inside.spec(""))
    try:
        found = flags(sandbox.init_pid)
    finally:
        sandbox.close()
    files, folders = hostfiles.proc_covers()
    assert {"/proc/vmstat", "/proc/interrupts"} <= set(files)
    assert {"/proc/fs", "/proc/sys/fs", "/dev/pts"} <= set(folders)
    for place in (*files, *folders):
        assert {"ro", "nodev", "nosuid", "noexec"} <= found[place], place


def test_the_program_can_neither_change_nor_remove_a_cover() -> None:
    seen = inside.run(
        """
        print(tried(lambda: os.chmod("/proc/fs", 0o777)), tried(lambda: open("/proc/fs/x", "w")))
        print(call(166, b"/proc/fs", 2), call(165, b"none", b"/proc/fs", None, 4096 | 32, None))
        """
    )
    assert set(seen.text.split()) <= {"EROFS", "EPERM", "EACCES"}


def test_a_sandbox_that_cannot_be_covered_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    files, folders = hostfiles.proc_covers()
    monkeypatch.setattr(hostfiles, "proc_covers", lambda: ([*files, "/proc/no-such-file"], folders))
    before, others = len(os.listdir("/proc/self/fd")), children()
    with pytest.raises(SandboxError, match="/proc/no-such-file: No such file"):
        box.start(inside.spec(""))
    assert len(os.listdir("/proc/self/fd")) == before
    assert children() <= others
