"""A process that waits for the next audit: it is used once, never missed, and gone with whoever kept it."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from reviewer import ReviewerFault, child, keep_ready, review, warm


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    yield
    warm._dismiss()
    warm._owner = 0


def waiting() -> int:
    (process,) = warm._waiting
    return process.pid


def test_the_next_audit_is_done_by_the_process_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_ready()
    monkeypatch.setattr(child, "WALL_SECONDS", 1.0)
    os.kill(waiting(), signal.SIGSTOP)
    with pytest.raises(ReviewerFault, match="overloaded"):
        review("x = 1\n")


def test_each_text_has_a_process_of_its_own() -> None:
    keep_ready()
    first = waiting()
    assert "T901" in {f.rule for f in review("x = 1\n").findings}
    assert waiting() != first
    assert "G011" in {f.rule for f in review("x =\n").findings}
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_one_that_died_while_it_waited_is_replaced() -> None:
    keep_ready()
    (process,) = warm._waiting
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert review("x = 1\n").verdict == "reject"
    assert waiting() != process.pid


def test_a_fork_leaves_it_to_its_parent() -> None:
    keep_ready()
    mine = waiting()
    if (forked := os.fork()) == 0:
        fine = review("x = 1\n").verdict == "reject" and warm._waiting[0].pid == mine
        os._exit(0 if fine else 1)
    assert os.waitpid(forked, 0)[1] == 0
    assert warm._waiting[0].poll() is None
    assert review("x = 1\n").verdict == "reject"


@pytest.mark.parametrize("end", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_goes_with_whoever_kept_it(end: str) -> None:
    program = "import reviewer.warm as w, reviewer; reviewer.keep_ready(); print(w._waiting[0].pid, flush=True)\n" + end
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        pid = int(keeper.stdout.readline())
        keeper.wait()
    fd = None
    try:
        fd = os.pidfd_open(pid)
        assert select.select([fd], [], [], 30)[0], "it still waits"
    except ProcessLookupError:
        pass
    finally:
        if fd is not None:
            os.close(fd)


def test_without_being_asked_nothing_waits() -> None:
    review("x = 1\n")
    assert not warm._waiting
