"""Assembles receipts: what was run, where, under what, with what result."""

import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from scoring import outcomes
from scoring.chain import canonical
from scoring.job import Job
from scoring.sandbox.box import Box
from scoring.sandbox.bwrap import find_bwrap
from scoring.sandbox.clock import RunClock
from scoring.sandbox.meter import Meter
from scoring.sandbox.spec import Spec

SCHEMA = 1


def level() -> str:
    """Return the isolation level of this process: `full` when it can give each part a user id of its own."""
    return "full" if os.geteuid() == 0 else "user"


def lease_share(lost: float, minimum: float) -> str:
    """Say in a few words how much of its CPUs a run got, and how much it is promised."""
    return f"{1 - lost:.0%} where {minimum:.0%} is promised"


@cache
def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def host() -> dict[str, Any]:
    """Return what this host is: kernel, interpreter and library versions. No names that identify it."""
    bwrap = subprocess.run([find_bwrap(), "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpu_count": os.cpu_count(),
        "python": platform.python_version(),
        "torch": _version("torch"),
        "numpy": _version("numpy"),
        "bubblewrap": bwrap.strip().removeprefix("bubblewrap "),
    }


def isolation(box: Box, spec: Spec) -> dict[str, Any]:
    """Return level and settings of a sandbox, and one hash that changes when any of them does."""
    settings: dict[str, Any] = {
        **box.settings,
        "caps": {
            "memory_bytes": spec.caps.memory_bytes,
            "processes": spec.caps.processes,
            "open_files": spec.caps.open_files,
            "file_bytes": spec.caps.file_bytes,
            "tmp_bytes": spec.caps.tmp_bytes,
            "output_bytes": spec.caps.output_bytes,
        },
    }
    return {"level": level(), "settings": settings, "settings_sha256": hashlib.sha256(canonical(settings)).hexdigest()}


def clock(job: Job, run: RunClock | None, end: float, started: datetime) -> dict[str, Any]:
    """Return the clock's story in seconds since t0; `started` is t0 on the wall."""
    asked = {
        "budget": job.clock.budget_seconds,
        "startup_cap": job.clock.startup_cap_seconds,
        "excluded_steps": job.clock.excluded_steps,
    }
    base = {"started_at": started.astimezone(UTC).isoformat(timespec="milliseconds"), "t0": 0.0, **asked}
    if run is None:
        return {**base, "tN": None, "end": round(end, 4), "startup": 0.0, "charged": 0.0}
    return {
        **base,
        "tN": None if run.tn is None else round(run.tn - run.t0, 4),
        "end": round(end - run.t0, 4),
        "startup": round(run.startup, 4),
        "charged": round(run.charged(end), 4),
    }


def resources(meter: Meter) -> dict[str, Any]:
    """Return what was used; the series holds [seconds, CPU seconds, bytes, processes]."""
    read, written = meter.watch.moved_bytes
    return {
        "cpu_seconds": round(meter.cpu_seconds, 3),
        "peak_memory_bytes": meter.peak_bytes,
        "peak_processes": meter.peak_tasks,
        "bytes_read": read,
        "bytes_written": written,
        "series": [list(point) for point in meter.series],
    }


@dataclass
class Receipt:
    """A receipt in the making: facts are added as they become known, `finish` sets the end."""

    job: Job
    fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        job = self.job
        self.fields = {
            "schema": SCHEMA,
            "kind": job.kind,
            "run_id": job.run_id,
            "attempt_id": job.attempt_id,
            "script_sha256": job.script_sha256,
            "kit_sha256": job.kit_sha256,
            "launch": job.launch.model_dump(mode="json"),
            "seed": job.seed,
            "shards": job.shards.model_dump(mode="json"),
            "evaluation": job.evaluation.model_dump(mode="json"),
            "host": host(),
            "runner_python": sys.version.split()[0],
            "checkpoint_sha256": job.checkpoint_sha256,
            "score": None,
        }
        if job.kind == "score":
            self.fields.update(probes=None, reference=None)

    def device(self, cpus: tuple[int, ...]) -> None:
        """Note the lease."""
        self.fields["device"] = {"kind": "cpu", "model": _cpu_model(), "count": len(cpus), "cpus": list(cpus)}

    def finish(self, code: str, detail: str = "") -> dict[str, Any]:
        """Set how it ended and return the whole."""
        outcome = outcomes.of(code)
        self.fields["exit"] = {"code": code, "owner": outcome.owner, "detail": detail}
        return self.fields
