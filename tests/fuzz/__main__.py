"""`make fuzz`: audit N texts that nobody would write (N=100000), and keep every one with which something is wrong.

The texts are audited in processes of this program, without a start for each; the number of the text at hand stands in
a file, so that a process that dies is replaced, and the text that it died of is tried alone. Every thousandth text,
and each with which something seems wrong, goes through the limited process that real audits use. SEED names the
series, of which every text can be had again by its number: `python -m tests.fuzz SEED NUMBER`.
"""

import gc
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from reviewer import review
from tests.fuzz.judging import Case, complaint, isolated

KEPT = Path(os.environ.get("HOLDOUT_HOME") or "var") / "fuzz"
EVERY = 1_000
MEMORY = 2 << 30  # of a process that has audited many texts
TOLD = 10  # seconds between two lines of progress


def work(seed: int, start: int, stop: int, step: int) -> None:
    """Audit texts one after another, in this process; print what is wrong, one line each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    review("x = 1\n", isolated=False)
    gc.freeze()
    here = os.open(mark(seed, start % step), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in range(start, stop, step):
        os.pwrite(here, f"{number:>12}".encode(), 0)
        case = Case.number(seed, number)
        wrong = complaint(case)
        if wrong is None and number % EVERY == 0:
            wrong = isolated(case)
        if wrong is not None:
            print(number, wrong.replace("\n", " "), flush=True)


def mark(seed: int, lane: int) -> Path:
    """Return the file that says at which text a lane is."""
    return KEPT / f"{seed}-lane-{lane}"


@dataclass
class Series:
    """All texts of one seed up to a number, in a few lanes that run side by side."""

    seed: int
    count: int
    lanes: int
    failed: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Audit them all; print progress and a summary."""
        KEPT.mkdir(parents=True, exist_ok=True)
        for lane in range(self.lanes):
            mark(self.seed, lane).write_text(f"{lane}")
        began = time.monotonic()
        with ThreadPoolExecutor(self.lanes) as pool:
            running = [pool.submit(self._lane, lane) for lane in range(self.lanes)]
            while not all(lane.done() for lane in running):
                time.sleep(TOLD if time.monotonic() - began > TOLD else 1)
                done, took = sum(self._at(lane) // self.lanes for lane in range(self.lanes)), time.monotonic() - began
                print(f"{done:>9,} of {self.count:,} texts, {len(self.failed)} failed, {done / took:.0f}/s", flush=True)
        for lane in running:
            lane.result()
        for number in range(self.lanes):
            mark(self.seed, number).unlink()
        said = f"{self.count:,} texts of series {self.seed} in {time.monotonic() - began:.0f} s"
        print(f"{said}: {len(self.failed)} failed{f', kept in {KEPT}' if self.failed else ''}", flush=True)

    def _lane(self, lane: int) -> None:
        start = lane
        while start < self.count:
            args = [sys.executable, "-m", "tests.fuzz", "--lane", *map(str, (self.seed, start, self.count, self.lanes))]
            with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout or ():
                    number, _, wrong = line.strip().partition(" ")
                    self._keep(int(number), wrong)
            if process.returncode == 0:
                return
            start = self._at(lane)
            if process.returncode not in (
                -signal.SIGTERM,
                -signal.SIGKILL,
            ):  # what no text brings about, it goes on after
                self._keep(start, f"the process ended with {process.returncode}")
                start += self.lanes

    def _at(self, lane: int) -> int:
        return int(mark(self.seed, lane).read_text() or lane)

    def _keep(self, number: int, wrong: str) -> None:
        case = Case.number(self.seed, number)
        path = KEPT / f"{self.seed}-{number}.py"
        path.write_bytes(case.data)
        try:
            alone = isolated(case) or "nothing is wrong"
        except Exception as error:  # an error of the parent is what must never be
            alone = f"the parent raised {type(error).__name__}: {error}"
        self.failed.append(number)
        print(f"{path}: {wrong}\n    in the limited process: {alone}", flush=True)


def main(args: Sequence[str]) -> int:
    """Run a series, one lane of it, or one text again."""
    match args:
        case ["--lane", *numbers]:
            seed, start, stop, step = map(int, numbers)
            work(seed, start, stop, step)
            return 0
        case [seed, number]:
            case = Case.number(int(seed), int(number))
            sys.stdout.buffer.write(case.data + b"\n")
            found = complaint(case), isolated(case)
            print(f"# here: {found[0]}; in the limited process: {found[1]}")
            return int(found != (None, None))
    seed, count = int(os.environ.get("SEED", "1")), int(os.environ.get("N", "100000"))
    series = Series(seed, count, max(1, len(os.sched_getaffinity(0))))
    series.run()
    return 1 if series.failed else 0


sys.exit(main(sys.argv[1:]))
