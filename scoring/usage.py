"""What several sandboxes used one after the other, told as one: seconds and CPU seconds go on counting."""

import time
from collections.abc import Callable
from typing import Any

from scoring import facts
from scoring.sandbox.box import Box
from scoring.sandbox.meter import Meter


class Usage:
    """Meters of the servers of one scoring run; `next` opens one, the last is the one that is sampled.

    `beside` is the scorer's sandbox, on the same CPUs: its time is not foreign.
    """

    def __init__(self, cpus: tuple[int, ...], beside: Box, emit: Callable[[dict[str, Any]], None]) -> None:
        self._cpus, self._beside, self._emit = cpus, beside, emit
        self._meters: list[Meter] = []
        self._due = 0.0

    @property
    def seconds(self) -> float:
        """Return the time from the first start to the last look."""
        return self._meters[-1].ended - self._meters[0].started

    def next(self, server: Box) -> None:
        """Measure `server` from now on; to be called in one breath with its start."""
        self._meters.append(Meter(server, self._cpus, time.monotonic(), self._beside))

    def look(self) -> dict[str, float | int]:
        """Take a sample of the server that lives; its CPU seconds include those of the servers before."""
        before = sum(meter.cpu_seconds for meter in self._meters[:-1])
        sample = self._meters[-1].look(time.monotonic())
        return {**sample, "cpu_seconds": round(sample["cpu_seconds"] + before, 2)}

    def tick(self) -> None:
        """Take and emit a sample, once a second at most."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + 1.0
            self._emit({"event": "sample", **self.look()})

    def lost_share(self) -> float:
        """Return what the server that lives lost of its lease: the two timeouts are each server's own."""
        return self._meters[-1].contention()["lost_share"]

    def contention(self) -> dict[str, float]:
        """Return foreign, waiting and lost shares over all servers, each for the time that it lived."""
        told = [(meter.ended - meter.started, meter.contention()) for meter in self._meters]
        lived = sum(seconds for seconds, _ in told) or 1.0
        return {name: round(sum(s * shares[name] for s, shares in told) / lived, 4) for name in told[0][1]}

    def resources(self) -> dict[str, Any]:
        """Return what was used, in the shape of one sandbox's."""
        told = [facts.resources(meter) for meter in self._meters]
        whole = {name: sum(one[name] for one in told) for name in ("cpu_seconds", "bytes_read", "bytes_written")}
        whole["cpu_seconds"] = round(whole["cpu_seconds"], 3)
        for name in ("peak_memory_bytes", "peak_processes"):
            whole[name] = max(one[name] for one in told)
        return {**whole, "series": self._series()}

    def _series(self) -> list[list[float]]:
        points, used = [], 0.0
        for meter in self._meters:
            later = meter.started - self._meters[0].started
            points += [[round(t + later, 2), round(cpu + used, 2), size, count] for t, cpu, size, count in meter.series]
            used += meter.cpu_seconds
        return points
