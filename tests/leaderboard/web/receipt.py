"""Receipts with everything that a real runner writes, for pages that read them."""

import copy
from typing import Any

TRAINED: dict[str, Any] = {
    "clock": {
        "started_at": "2026-01-02T03:04:05.678+00:00",
        "t0": 0.0,
        "budget": 2.0,
        "startup_cap": 30.0,
        "excluded_steps": 2,
        "tN": 3.25,
        "end": 4.75,
        "startup": 3.25,
        "charged": 1.5,
    },
    "steps": {"count": 40, "median_seconds": 0.0125},
    "resources": {
        "cpu_seconds": 4.5,
        "peak_memory_bytes": 300 * 2**20,
        "peak_processes": 9,
        "bytes_read": 0,
        "bytes_written": 0,
        "series": [[0.0, 0.0, 100 * 2**20, 2], [2.0, 1.0, 250 * 2**20, 5], [4.0, 3.0, 300 * 2**20, 4]],
    },
    "output": {"bytes": 4 * 2**20, "files": 1},
    "contention": {"foreign_share": 0.0, "waiting_share": 0.0, "lost_share": 0.004, "minimum_lease_share": 0.9},
    "log": {"sha256": "7" * 64, "bytes": 120, "truncated": False},
    "device": {"kind": "cpu", "model": "A Fine CPU", "count": 1, "cpus": [3]},
    "host": {"kernel": "6.1", "python": "3.11.2", "torch": "2.13.0"},
}
KIND = {"asked": 246, "breached": 0, "compared": 62_000, "largest": 0.0}
PROBED: dict[str, Any] = {
    "probes": {
        "power": 1,
        "strict_per_row": 1.0,
        "repeats": 0.05,
        "reference_sha256": None,
        "tolerance": 1e-05,
        "seconds": 1.2,
        "cost": 0.34,
        "strict": dict(KIND),
        "repeat": {**KIND, "asked": 13, "compared": 3_328},
        "mean_p": 0.5,
        "evidence": [],
    },
    "resources": {"series": [[0.0, 0.0, 123_456_789, 2], [1.0, 1.0, 123_456_999, 2]], "peak_memory_bytes": 123_456_999},
}


def probed(**strict: Any) -> dict[str, Any]:
    """Return a score receipt's fields, with other numbers of the strict probes and a place of evidence."""
    fields = copy.deepcopy(PROBED)
    fields["probes"]["strict"] |= strict
    fields["probes"]["evidence"] = [{"kind": "strict", "row": 77, "position": 191_919_191, "difference": 87.6}]
    return fields
