"""Server P starts when nothing of server A is left."""

import os
from pathlib import Path

import pytest

from scoring.sandbox import box
from scoring.sandbox.box import Box
from scoring.session import Session
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox

# Does not go by itself, nor when asked: children of its own, all deaf to SIGTERM.
STAYS = "import os, signal; signal.signal(15, signal.SIG_IGN); os.fork(); os.fork(); print(1); signal.pause()"
SCORED = 'print(\'{"event": "ready"}\\n{"event": "scored"}\', flush=True)'


def processes_of(pid: int) -> set[int]:
    """Find everything in the process namespace of `pid`."""
    own = os.readlink(f"/proc/{pid}/ns/pid")
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns/pid") == own:
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_nothing_of_the_first_server_is_left_when_the_second_starts() -> None:
    first = box.start(inside.spec(STAYS))
    scorer = box.start(inside.spec(SCORED))
    quiet, other_end = os.pipe()
    alive: list[set[int]] = []
    boxes = [first, scorer]

    def start() -> Box:
        alive.append({pid for pid in before if Path(f"/proc/{pid}").exists()})
        second = box.start(inside.spec("pass"))
        boxes.append(second)
        second.go()
        return second

    try:
        first.go()
        said = 0
        while said < 8:  # four processes, a line each
            said += len(os.read(first.output, 100))
        before = processes_of(first.init_pid)
        session = Session(
            server=first,
            scorer=scorer,
            cancel=quiet,
            deadline=float("inf"),
            log_bytes=1000,
            tick=lambda: None,
            next_server=start,
        )
        scorer.go()
        session.listen()
        assert len(before) >= 4
        assert alive == [set()]
        assert session.server is boxes[-1]
        assert not session.ready
    finally:
        for sandbox in boxes:
            sandbox.close()
        os.close(quiet)
        os.close(other_end)
