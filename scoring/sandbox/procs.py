"""Reads the processes of one sandbox from the host's /proc.

All of them are descendants of init, in its pid namespace. Needed for what control groups do not say (time spent
waiting for a CPU, bytes moved), and for everything where there are none.
"""

import os
from dataclasses import dataclass, field

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:  # it ended while we looked
        return ""


def tree(root: int) -> list[int]:
    """Return `root` and every process below it; reads the children lists, so it costs what the sandbox holds."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for tid in threads:
            queue += map(int, _text(f"/proc/{pid}/task/{tid}/children").split())
    return found


@dataclass
class Sample:
    """One look at a sandbox: CPU seconds (the reaped included), resident bytes, processes, threads."""

    cpu_seconds: float
    resident_bytes: int
    processes: int
    threads: int


@dataclass
class Watch:
    """Looks again and again; keeps the last value of each thread, so that what has ended still counts."""

    root: int
    _waits: dict[tuple[int, int], int] = field(default_factory=dict)
    _moved: dict[int, tuple[int, int]] = field(default_factory=dict)

    def look(self) -> Sample:
        """Return one sample and update the waiting time and the bytes moved."""
        pids = tree(self.root)
        ticks = pages = threads = 0
        for pid in pids:
            stat = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
            if len(stat) < 22:
                continue
            ticks += sum(map(int, stat[11:15]))  # utime stime cutime cstime
            pages += int(stat[21])
            threads += int(stat[17])
            self._look_closer(pid)
        return Sample(ticks / _TICKS, pages * _PAGE, len(pids), threads)

    def _look_closer(self, pid: int) -> None:
        try:
            tids = os.listdir(f"/proc/{pid}/task")
        except OSError:
            return
        for tid in tids[:4096]:
            fields = _text(f"/proc/{pid}/task/{tid}/schedstat").split()
            if len(fields) == 3:
                self._waits[pid, int(tid)] = int(fields[1])
        io = dict(line.split(": ") for line in _text(f"/proc/{pid}/io").splitlines() if ": " in line)
        if io:
            self._moved[pid] = (int(io.get("rchar", 0)), int(io.get("wchar", 0)))

    @property
    def waited_seconds(self) -> float:
        """Return seconds that threads were ready to run and had no CPU, summed over threads."""
        return sum(self._waits.values()) / 1e9

    @property
    def moved_bytes(self) -> tuple[int, int]:
        """Return (read, written) bytes over all system calls seen so far."""
        return sum(read for read, _ in self._moved.values()), sum(written for _, written in self._moved.values())


def busy_seconds(cpus: tuple[int, ...]) -> float:
    """Return busy seconds of these CPUs since boot, whoever's they were, time stolen by a hypervisor included."""
    busy = 0
    wanted = {f"cpu{cpu}" for cpu in cpus}
    for line in _text("/proc/stat").splitlines():
        name, *values = line.split()
        if name in wanted:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, values[:8])
            busy += user + nice + system + irq + softirq + steal
    return busy / _TICKS
