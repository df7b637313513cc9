"""Owns the clock of a training run: watches one box from go to gone, and says how it ended.

One loop, one thread. It hears four things (init's word, the log, step boundaries, a cancel) and looks at the clock.
Everything that decides is stamped here on arrival. What the script can influence is only when a boundary arrives:
too early shortens its own free start-up, too late is cut at the cap, never is no start-up at all.

    go ── boundary N: data gate opens ── deadline - term: SIGTERM ── deadline: freeze and kill
     └──────────────── exit, limit reached, cancel: kill what is left ────────────────┘
"""

import os
import selectors
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scoring.sandbox import meter
from scoring.sandbox.box import Box
from scoring.sandbox.clock import RunClock
from scoring.sandbox.logfile import LogFile
from scoring.sandbox.spec import Caps

_TICK = 0.1  # between looks at limits that no kernel counter guards
_SAMPLE = 1.0
_MAX_DRAIN = 1 << 26
# Boundaries heard before a script is talking nonsense: far more than steps, far less than would keep us busy.
_BOUNDARIES, _BOUNDARIES_A_SECOND, _BOUNDARY_BYTES = 100_000, 1_000, 32

Emit = Callable[[dict[str, Any]], None]


@dataclass
class Supervisor:
    """Everything that one training run is watched with; `checkpoint` is a path below the output folder."""

    box: Box
    clock: RunClock
    meter: meter.Meter
    log: LogFile
    caps: Caps
    output_files: int
    checkpoint: str
    boundaries: int  # read end of the FIFO, non-blocking
    cancel: int  # becomes readable when the run is to be cancelled
    open_gate: Callable[[], None]
    emit: Emit
    end: float = 0.0
    _cause: str = ""  # why we ended it; empty when it ended itself
    _status: int | None = None
    _partial: bytes = b""
    _heard: int = 0
    _terminated: bool = False
    _out_of_memory: bool = False
    _refused: bool = False
    _events: dict[str, float] = field(default_factory=dict)  # kind -> when it may be said again

    def run(self) -> tuple[str, str]:
        """Watch until nothing is left alive; returns (outcome code, detail for the team)."""
        self._watch()
        self.meter.look(self.end)
        group = self.box.group  # it goes away with the box; its counters are read while it is there
        self._out_of_memory, self._refused = group.out_of_memory(), group.processes_refused()
        self.box.kill()
        self.box.wait()
        self._drain()
        return self._judge()

    def _watch(self) -> None:
        with selectors.DefaultSelector() as selector:
            for fd, handle in (
                (self.box.word, self._hear_init),
                (self.box.output, self._hear_log),
                (self.boundaries, self._hear_boundaries),
                (self.cancel, self._hear_cancel),
            ):
                selector.register(fd, selectors.EVENT_READ, handle)
            if self.clock.tn is not None:
                self.open_gate()
            next_tick = self.clock.t0
            while not self.end:
                now = time.monotonic()
                due = [next_tick, self.clock.deadline, *([] if self._terminated else [self.clock.term_at])]
                for key, _ in selector.select(max(min(due) - now, 0)):
                    if key.data() is False:
                        selector.unregister(key.fd)
                now = time.monotonic()
                if now >= next_tick:
                    next_tick = now + _TICK
                    self._look(now)
                self._obey_clock(now)

    def _finish(self, cause: str) -> None:
        if not self.end:
            self.end, self._cause = time.monotonic(), cause

    def _obey_clock(self, now: float) -> None:
        if now >= self.clock.deadline:
            self._finish("deadline")
        elif now >= self.clock.term_at and not self._terminated:
            self._terminated = True
            self.box.terminate()

    def _hear_init(self) -> None:
        self._status = self.box.exit_status()
        self._finish("")

    def _hear_cancel(self) -> None:
        self._finish("cancelled")

    def _hear_log(self) -> bool:
        chunk = os.read(self.box.output, 1 << 16)
        if self.log.full:
            return bool(chunk)
        self.log.write(chunk)
        if self.log.full:
            self._finish("log_limit")
        return bool(chunk)

    def _hear_boundaries(self) -> None:
        try:
            chunk = os.read(self.boundaries, 1 << 16)
        except BlockingIOError:
            return
        *lines, rest = (self._partial + chunk).split(b"\n")
        self._partial = rest[-_BOUNDARY_BYTES:]
        self._heard += max(len(lines), len(chunk) // _BOUNDARY_BYTES, 1)
        if self._heard > self._most_boundaries():
            self._finish("contract")
            return
        for line in lines:
            if line.isdigit() and len(line) <= 12:
                self._count(time.monotonic())

    def _most_boundaries(self) -> int:
        return _BOUNDARIES + int(_BOUNDARIES_A_SECOND * (self.clock.cap + self.clock.budget))

    def _count(self, now: float) -> None:
        if self.clock.boundary(now):
            self.open_gate()
            self.emit({"event": "startup", "seconds": round(self.clock.startup, 3)})
        if now >= self._events.get("step", 0.0):
            self._events["step"] = now + 1.0
            self.emit({"event": "step", "step": self.clock.steps, "charged": round(self.clock.charged(now), 3)})

    def _look(self, now: float) -> None:
        """Check the ceilings, and once a second take a sample."""
        out = self.box.folders["out"]
        group = self.box.group
        if group.out_of_memory() or ("memory" not in group.folders and self._holds_too_much()):
            self._finish("memory_limit")
        elif meter.is_full(out) or meter.file_count(out) > self.output_files:
            self._finish("output_limit")
        elif group.processes_refused() or self._holds_too_many():
            self._finish("process_limit")
        if now >= self._events.get("sample", 0.0):
            self._events["sample"] = now + _SAMPLE
            self.emit({"event": "sample", **self.meter.look(now)})

    def _holds_too_much(self) -> bool:
        return self.meter.memory_now() > self.caps.memory_bytes

    def _holds_too_many(self) -> bool:
        """Without a pids controller nobody tells of a refusal; standing at the limit (init beside) is its trace."""
        return "pids" not in self.box.group.folders and self.meter.peak_tasks > self.caps.processes

    def _drain(self) -> None:
        """Read what was still in the pipes; everything inside is dead, so both come to their end."""
        left = _MAX_DRAIN
        while left > 0 and (chunk := os.read(self.box.output, 1 << 16)):
            left -= len(chunk)
            if not self.log.full:
                self.log.write(chunk)
        before = -1
        while self._cause == "" and before != self.clock.steps:
            before = self.clock.steps
            self._hear_boundaries()

    def has_checkpoint(self) -> bool:
        """Is there more than an empty file at the agreed place? What kind of thing it is, the seal will ask."""
        try:
            status = os.stat(self.checkpoint, dir_fd=self.box.folders["out"], follow_symlinks=False)
        except OSError:
            return False
        return not stat.S_ISREG(status.st_mode) or status.st_size > 0

    def _judge(self) -> tuple[str, str]:
        if self._cause == "contract":
            return "contract", f"record_step_boundary was called more than {self._most_boundaries():,} times"
        if self._cause and self._cause != "deadline":
            return self._cause, ""
        if self.log.full:
            return "log_limit", ""
        # Whoever was asked to end may say so with any status: torchrun exits 1, a handler as its author liked.
        if self._status == 0 or self._cause == "deadline" or (self._terminated and not self._ran_into_a_limit()):
            if self.clock.over_budget(self.end):
                return "over_budget", ""
            return ("ok" if self.has_checkpoint() else "no_checkpoint"), ""
        words = self.log.last_words()
        return self._judge_crash(words), words or _describe(self._status)

    def _ran_into_a_limit(self) -> bool:
        """Did the kernel count a limit as reached since the last look?"""
        return self._out_of_memory or self._refused or meter.is_full(self.box.folders["out"])

    def _judge_crash(self, words: str) -> str:
        """Name the limit that a crash ran into. The script could print such words itself; every answer is its own."""
        last = words.rsplit("\n", 1)[-1]
        if self._out_of_memory or "MemoryError" in last or "can't allocate memory" in words:
            return "memory_limit"
        if self._status == -25 or "[Errno 27]" in last or self._largest_file() >= self.caps.file_bytes:
            return "file_limit"
        if meter.is_full(self.box.folders["out"]) or "[Errno 28]" in last:
            return "output_limit"
        if self._refused or "can't start new thread" in last or "[Errno 11]" in last:
            return "process_limit"
        return "crash"

    def _largest_file(self) -> int:
        try:
            with os.scandir(self.box.folders["out"]) as entries:
                return max((entry.stat(follow_symlinks=False).st_size for entry in entries), default=0)
        except OSError:  # the script has closed its folder, to itself too
            return 0


def _describe(status: int | None) -> str:
    if status is None:
        return "the sandbox ended without a word"
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
