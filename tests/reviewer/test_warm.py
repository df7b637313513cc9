"""A process that has everything imported: it forks one for each audit, is never missed, and goes with its keeper."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewer import ReviewerFault, child, keep_ready, review, warm
from tests.reviewer.scripts import BASELINE, KNOBS


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(warm, "_command", warm._command)
    nobody()
    yield
    nobody()


def nobody() -> None:
    warm._owner = os.getpid()
    warm._dismiss()
    warm._owner = 0


def waiting() -> int:
    (nursery,) = warm._waiting
    return nursery.process.pid


def forked(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def nursery_that(does: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one whose forked processes do something else in the place of an audit."""
    program = child._NURSERY.replace("import main;", f"import main, child; child.serve = lambda: {does};")
    monkeypatch.setattr(child, "_NURSERY", program)
    keep_ready()


def test_it_says_what_a_process_of_its_own_says() -> None:
    texts = (BASELINE, KNOBS, "def f(:\n", "# ä\n", "x = " + "(" * 150 + ")" * 150 + "\n")
    alone = [review(text) for text in texts]
    keep_ready()
    nursery = waiting()
    assert [review(text) for text in texts] == alone
    assert waiting() == nursery


def test_each_text_has_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    nursery_that("(_ for _ in ()).throw(OSError(__import__('os').getpid()))", monkeypatch)
    said = [review("x = 1\n").findings[0].message for _ in range(3)]
    assert len({*said}) == 3
    assert forked(waiting()) == ""


@pytest.mark.parametrize(
    ("does", "code", "words"),
    [
        ("__import__('os').kill(__import__('os').getpid(), 11)", "G013", "SIGSEGV"),
        ("__import__('os').kill(__import__('os').getpid(), 24)", "G012", "processor time"),
        ("[].pop()", "G013", "IndexError: pop from empty list"),
        ("bytearray(4 << 30)", "G013", "MemoryError"),
        ("print('[' * 5000, flush=True) or 0", "G014", "no readable answer"),
        ("print('x' * 10_000_000, flush=True) or 0", "G014", "no readable answer"),
    ],
)
def test_an_end_that_a_text_can_bring_about_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch, does: str, code: str, words: str
) -> None:
    nursery_that(does, monkeypatch)
    nursery = waiting()
    for _ in range(2):
        (finding,) = review("x = 1\n").findings
        assert finding.rule == code
        assert words in finding.message
    assert waiting() == nursery


def test_the_forked_process_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = "[__import__('resource').getrlimit(n)[0] for n in (0, 1, 4, 9)]"
    nursery_that(f"(_ for _ in ()).throw(OSError({limits}))", monkeypatch)
    said = review("x = 1\n").findings[0].message
    assert f"[{child.CPU_SECONDS}, 0, 0, {child.MEMORY_BYTES}]" in said


def test_a_killed_audit_is_a_fault_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    nursery_that("__import__('os').kill(__import__('os').getpid(), 9)", monkeypatch)
    with pytest.raises(ReviewerFault, match="SIGKILL"):
        review("x = 1\n")


def test_one_that_does_not_answer_is_ended_with_what_it_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    nursery_that("__import__('signal').pause() if b'x = 2' in open(0, 'rb', closefd=False).read() else 1", monkeypatch)
    nursery = waiting()
    assert [f.rule for f in review("x = 1\n").findings] == ["G013"]  # it has imported everything now
    monkeypatch.setattr(child, "WALL_SECONDS", 2.0)
    audits: list[int] = []

    def look() -> None:
        while not (found := forked(nursery).split()):
            pass
        audits.append(os.pidfd_open(int(found[0])))

    looking = threading.Thread(target=look)
    looking.start()
    with pytest.raises(ReviewerFault, match="overloaded"):
        review("x = 2\n")
    looking.join()
    assert select.select(audits, [], [], 30)[0], "the audit goes on"
    os.close(audits[0])
    assert waiting() != nursery


def test_one_that_died_is_replaced_and_its_audit_is_done_by_another() -> None:
    keep_ready()
    (nursery,) = warm._waiting
    nursery.process.kill()
    os.waitid(os.P_PID, nursery.process.pid, os.WEXITED | os.WNOWAIT)
    assert review("x = 1\n").verdict == "reject"
    assert waiting() != nursery.process.pid


def test_one_that_cannot_begin_leaves_the_reason_to_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "import sys; sys.modules['libcst'] = None;"
    monkeypatch.setattr(child, "_START", child._START.replace("import sys;", broken))
    monkeypatch.setattr(child, "_NURSERY", child._NURSERY.replace("import sys;", broken))
    keep_ready()
    with pytest.raises(ReviewerFault, match="libcst"):
        review("x = 1\n")


def test_two_at_once_do_not_wait_for_each_other() -> None:
    keep_ready()
    os.kill(waiting(), signal.SIGSTOP)
    first = threading.Thread(target=lambda: review("x = 1\n"))
    nursery = waiting()
    first.start()
    while warm._waiting:
        pass
    assert review("x = 1\n").verdict == "reject"
    os.kill(nursery, signal.SIGCONT)
    first.join()
    assert len(warm._waiting) == 1


def test_a_fork_leaves_it_to_its_parent() -> None:
    keep_ready()
    mine = waiting()
    if (forked := os.fork()) == 0:
        fine = review("x = 1\n").verdict == "reject" and warm._waiting[0].process.pid == mine
        os._exit(0 if fine else 1)
    assert os.waitpid(forked, 0)[1] == 0
    assert warm._waiting[0].process.poll() is None
    assert review("x = 1\n").verdict == "reject"


@pytest.mark.parametrize("end", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_goes_with_whoever_kept_it(end: str) -> None:
    program = "import reviewer.warm as w, reviewer; reviewer.keep_ready(); print(w._waiting[0].process.pid, flush=True)"
    with subprocess.Popen([sys.executable, "-c", f"{program}\n{end}"], stdout=subprocess.PIPE, text=True) as keeper:
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


def test_nothing_is_left_open() -> None:
    keep_ready()
    review("x = 1\n")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        review("x = 1\n")
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_being_asked_nothing_waits() -> None:
    review("x = 1\n")
    assert not warm._waiting
