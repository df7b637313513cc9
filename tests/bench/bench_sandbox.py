"""What a sandbox costs, against the same Python without one."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable

from scoring.sandbox import box
from tests.scoring.sandbox import inside

ROUNDS = 15


def _bare() -> None:
    import sys

    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)


def _sealed() -> None:
    sandbox = box.start(inside.spec("", argv=("/opt/venv/bin/python", "-I", "-c", "pass")))
    try:
        sandbox.go()
        while os.read(sandbox.output, 4096):
            pass
        assert sandbox.exit_status() == 0
    finally:
        sandbox.close()


def _seconds(action: Callable[[], None]) -> list[float]:
    """Time `action` ROUNDS times after one for warmth."""
    action()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken


def run() -> list[tuple[str, float, str]]:
    """Return (name, ratio, note): a sandbox from nothing to gone, over `python -I -c pass`."""
    bare, sealed = _seconds(_bare), _seconds(_sealed)
    ratio = statistics.median(sealed) / statistics.median(bare)
    extra = 1000 * (statistics.median(sealed) - statistics.median(bare))
    best = 1000 * (min(sealed) - min(bare))
    note = f"+{extra:.0f} ms in the median, +{best:.0f} ms at best, built and removed"
    return [("sandbox start", ratio, note)]
