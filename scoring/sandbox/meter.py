"""What a run uses, and what it was denied.

`lost share` answers "did the run get its lease?" with the smaller of two measurements, each a share of
(leased CPUs x wall time): foreign CPU time on the leased CPUs, and the time our own threads stood in a run queue.
Foreign time alone would blame a neighbour who used a CPU that the script left idle; waiting alone would blame us for
a script that starts forty threads on two CPUs. Only both together are a loss, and a script can make only one of them:
what the runner itself spends on listening to a script is not foreign, or a script that talks without end had both.
"""

import os
import time
from dataclasses import dataclass, field

from scoring.sandbox import procs
from scoring.sandbox.box import Box

_SERIES = 240  # points on a receipt; longer series are thinned by half as they grow


@dataclass
class Meter:
    """Samples one box; start it with the program's start, `look` every second or sooner."""

    box: Box
    cpus: tuple[int, ...]
    started: float
    beside: Box | None = None  # another sandbox of ours on the same CPUs: its time is not foreign
    watch: procs.Watch = field(init=False)
    series: list[tuple[float, float, int, int]] = field(default_factory=list)  # seconds, cpu, bytes, processes
    peak_bytes: int = 0
    peak_tasks: int = 0
    cpu_seconds: float = 0.0
    ended: float = 0.0
    _busy_at_start: float = field(init=False)
    _busy_seconds: float = 0.0
    _beside_at_start: float = field(init=False)
    _beside_seconds: float = 0.0
    _own_at_start: float = field(default_factory=time.process_time)
    _own_seconds: float = 0.0
    _cpu_at_start: float = field(init=False)
    _waited_at_start: float = field(init=False)
    _stride: int = 1
    _looks: int = 0

    def __post_init__(self) -> None:
        self.watch = procs.Watch(self.box.init_pid)
        self._busy_at_start = procs.busy_seconds(self.cpus)
        self._cpu_at_start = self.box.group.cpu_seconds() or 0.0
        self.watch.look()
        self._waited_at_start = self.watch.waited_seconds
        self._beside_at_start = self._beside()

    def memory_now(self) -> int:
        """Return bytes held: the control group's count, or resident pages plus what lies in the private tmpfs."""
        counted = self.box.group.memory_bytes()
        if counted is not None:
            return counted
        stored = sum(used_bytes(fd) for fd in self.box.folders.values())
        sample = self.watch.look()
        self.peak_tasks = max(self.peak_tasks, sample.threads)
        return sample.resident_bytes + stored

    def look(self, now: float) -> dict[str, float | int]:
        """Take a sample; returns {"cpu_seconds", "memory_bytes", "processes"}."""
        sample = self.watch.look()
        counted = self.box.group.cpu_seconds()
        cpu = sample.cpu_seconds if counted is None else counted - self._cpu_at_start
        memory = self.memory_now()
        self.cpu_seconds = max(self.cpu_seconds, cpu)
        self.peak_bytes = max(self.peak_bytes, memory, self.box.group.peak_memory_bytes() or 0)
        self.peak_tasks = max(self.peak_tasks, sample.threads)
        self._busy_seconds = procs.busy_seconds(self.cpus) - self._busy_at_start
        self._own_seconds = time.process_time() - self._own_at_start
        self._beside_seconds = max(self._beside_seconds, self._beside() - self._beside_at_start)
        self.ended = now
        self._keep((round(now - self.started, 2), round(self.cpu_seconds, 2), memory, sample.processes))
        return {"cpu_seconds": round(self.cpu_seconds, 2), "memory_bytes": memory, "processes": sample.processes}

    def _beside(self) -> float:
        if self.beside is None:
            return 0.0
        counted = self.beside.group.cpu_seconds()
        return procs.Watch(self.beside.init_pid).look().cpu_seconds if counted is None else counted

    def _keep(self, point: tuple[float, float, int, int]) -> None:
        if self._looks % self._stride == 0:
            self.series.append(point)
        self._looks += 1
        if len(self.series) >= _SERIES:
            del self.series[1::2]
            self._stride *= 2

    def contention(self) -> dict[str, float]:
        """Return foreign, waiting and lost shares of the lease, from the start to the last look."""
        lease = max(self.ended - self.started, 1e-9) * len(self.cpus)
        ours = self.cpu_seconds + self._beside_seconds + self._own_seconds
        foreign = max(self._busy_seconds - ours, 0.0) / lease
        waiting = (self.watch.waited_seconds - self._waited_at_start) / lease
        lost = min(foreign, waiting)
        return {
            "foreign_share": round(foreign, 4),
            "waiting_share": round(waiting, 4),
            "lost_share": round(min(lost, 1.0), 4),
        }


def used_bytes(folder: int) -> int:
    """Return the bytes in use of the tmpfs behind a directory descriptor."""
    status = os.fstatvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def is_full(folder: int) -> bool:
    """Is less than one page left in the tmpfs behind a directory descriptor?"""
    return os.fstatvfs(folder).f_bavail == 0


def file_count(folder: int) -> int:
    """Return files and folders in the tmpfs behind a directory descriptor, its root not counted."""
    status = os.fstatvfs(folder)
    return status.f_files - status.f_ffree - 1
