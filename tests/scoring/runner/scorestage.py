"""A host with a real sealed set, on which scripts are scored."""

import hashlib
import os
from pathlib import Path
from typing import Any

from tests.scoring.runner.stage import MIB, Result, Stage, kit_sha256
from tests.scoring.tiny import BATCH, LENGTH, VOCAB, Tiny, build_tiny

PROBES = {"strict_per_row": 1, "repeats": 0.1, "power": 1, "reference_sha256": None, "make_reference": False}


class ScoreStage(Stage):
    """A host with a real sealed set and the same kit."""

    tiny: Tiny

    @property
    def open_dir(self) -> Path:
        return self.tiny.open_dir

    @property
    def sealed_dir(self) -> Path:
        return self.home / "sealed" / "tiny"

    def __post_init__(self) -> None:
        self.tiny = build_tiny(self.home)
        self.kit_dir.mkdir()
        (self.kit_dir / "prepare.py").write_text("KIT = 1\n")

    def job(self, script: str | bytes, **changes: Any) -> dict[str, Any]:
        fixed = {
            "kit_sha256": kit_sha256({"prepare.py": b"KIT = 1\n"}),
            "evaluation": {"seq_len": LENGTH, "batch_size": BATCH, "vocab_size": VOCAB, "timeout_seconds": 60.0},
            "clock__budget_seconds": 20.0,
            "limits__memory_bytes": 2048 * MIB,
            "limits__threads": min(2, len(os.sched_getaffinity(0))),  # server and scorer import torch side by side
        }
        return super().job(script, **{**fixed, **changes})

    def plant(self, content: bytes = b"weights") -> str:
        """Put a sealed checkpoint where training would have left it; returns its hash."""
        line = f"final.pt {len(content)} {hashlib.sha256(content).hexdigest()}\n"
        digest = hashlib.sha256(line.encode()).hexdigest()
        folder = self.checkpoints_dir / digest
        if not folder.exists():  # a run of these tests may have sealed the same bytes, read-only
            folder.mkdir(parents=True)
            (folder / "final.pt").write_bytes(content)
        return digest

    def score_job(self, script: str, **changes: Any) -> dict[str, Any]:
        fixed = {
            "kind": "score",
            "shards__target": "public",
            "shards__commitment": self.tiny.manifest["public"]["commitment"],
            "checkpoint_sha256": self.plant(),
            "probes": dict(PROBES),
            "host__sealed_dir": str(self.sealed_dir),
            "host__key_path": str(self.home / "sealed" / "key"),
        }
        return self.job(script, **{**fixed, **changes})

    def score(self, script: str, **changes: Any) -> Result:
        job = self.score_job(script, **changes)
        return self.finish(self.start(job), job)
