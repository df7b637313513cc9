"""A host in a temporary folder: a tiny shard set, a kit without torch, and a way to run a script for real."""

import hashlib
import json
import signal
import subprocess
import sys
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scoring import receipt, shards

KIT = """\
import json, os
CONSTANTS = json.load(open("/holdout/constants.json"))
FIFO = None
def record_step_boundary(step):
    global FIFO
    if FIFO is None:
        FIFO = os.open(CONSTANTS["steps_fifo"], os.O_WRONLY | os.O_NONBLOCK)
    os.write(FIFO, b"%d\\n" % step)
def visible():
    return sorted(os.listdir(CONSTANTS["data_dir"]))
def save(content=b"weights", name="out/final.pt"):
    with open(name, "wb") as file:
        file.write(content)
"""
KEY_SEED = "5a" * 32
MIB = 1 << 20


def kit_sha256(files: dict[str, bytes]) -> str:
    """The platform's own rule for the hash of a kit."""
    lines = (f"{n}\0{len(c)}\0{hashlib.sha256(c).hexdigest()}\n" for n, c in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass
class Result:
    """What a runner process left."""

    exit_code: int
    events: list[dict[str, Any]]
    stderr: str
    log: str

    @property
    def receipt(self) -> dict[str, Any]:
        return self.events[-1]["receipt"]

    @property
    def code(self) -> str:
        return self.receipt["exit"]["code"]

    @property
    def detail(self) -> str:
        return self.receipt["exit"]["detail"]

    def named(self, event: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == event]


@dataclass
class Stage:
    """One host folder; `run` starts a real runner on a script and waits for its receipt."""

    home: Path
    train_files: int = 3
    count: int = 0
    last: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tokens = shards.pack_tokens(array("H", range(64)))
        files = {f"{i:03d}.bin": tokens for i in range(self.train_files)}
        (self.open_dir / "train").mkdir(parents=True)
        for name, content in {**{f"train/{n}": c for n, c in files.items()}, "dev.bin": tokens}.items():
            (self.open_dir / name).write_bytes(content)
        table = shards.pack_token_bytes(array("H", [1] * 64))
        (self.open_dir / "token_bytes.bin").write_bytes(table)
        (self.open_dir / "tokenizer.json").write_text("{}")
        manifest = {
            "schema": 1,
            "set": "tiny",
            "seed": 1,
            "vocab_size": 64,
            "bos": 0,
            "tokenizer_sha256": hashlib.sha256(b"{}").hexdigest(),
            "token_bytes_sha256": hashlib.sha256(table).hexdigest(),
            "gate_files": 1,
            "train": {
                "files": [{"name": n, "tokens": 64, "sha256": hashlib.sha256(c).hexdigest()} for n, c in files.items()]
            },
            "dev": {"file": "dev.bin", "tokens": 64, "sha256": hashlib.sha256(tokens).hexdigest()},
            "public": {"commitment": "11" * 32},
            "private": {"commitment": "22" * 32},
        }
        (self.open_dir / "manifest.json").write_text(json.dumps(manifest))
        self.kit_dir.mkdir()
        (self.kit_dir / "prepare.py").write_text(KIT)

    @property
    def open_dir(self) -> Path:
        return self.home / "shards"

    @property
    def kit_dir(self) -> Path:
        return self.home / "kit"

    @property
    def runs_dir(self) -> Path:
        return self.home / "agent" / "runs"

    @property
    def checkpoints_dir(self) -> Path:
        return self.home / "agent" / "checkpoints"

    def job(self, script: str | bytes, **changes: Any) -> dict[str, Any]:
        """A job for `script`; `changes` are dotted paths, `clock__budget_seconds=1`."""
        self.count += 1
        text = script if isinstance(script, bytes) else script.encode()
        script_path = self.home / f"script-{self.count}.py"
        script_path.write_bytes(text)
        job: dict[str, Any] = {
            "schema": 1,
            "kind": "train",
            "run_id": "r000001",
            "attempt_id": f"a{self.count:06d}",
            "script_sha256": hashlib.sha256(text).hexdigest(),
            "seed": 12345,
            "launch": {"launcher": "python", "processes": 1, "env": {}, "args": []},
            "checkpoint": "out/final.pt",
            "isolation": "user",
            "clock": {
                "budget_seconds": 2.0,
                "startup_cap_seconds": 5.0,
                "excluded_steps": 1,
                "term_seconds": 0.3,
                "minimum_lease_share": 0.0,  # other work on the machine must not decide these tests
            },
            "limits": {
                "threads": 1,
                "memory_bytes": 512 * MIB,
                "processes": 32,
                "open_files": 256,
                "file_bytes": 8 * MIB,
                "output_bytes": 16 * MIB,
                "output_files": 50,
                "log_bytes": MIB,
                "tmp_bytes": 32 * MIB,
            },
            "evaluation": {"seq_len": 8, "batch_size": 2, "vocab_size": 64, "timeout_seconds": 20.0},
            "kit_sha256": kit_sha256({"prepare.py": KIT.encode()}),
            "shards": {
                "set": "tiny",
                "manifest_sha256": hashlib.sha256((self.open_dir / "manifest.json").read_bytes()).hexdigest(),
                "target": None,
                "commitment": None,
            },
            "checkpoint_sha256": None,
            "probes": None,
            "host": {
                "script_path": str(script_path),
                "kit_dir": str(self.kit_dir),
                "open_dir": str(self.open_dir),
                "sealed_dir": None,
                "key_path": None,
                "runs_dir": str(self.runs_dir),
                "checkpoints_dir": str(self.checkpoints_dir),
                "log_path": str(self.home / f"log-{self.count}"),
            },
        }
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = job
            for parent in parents:
                place = place[parent]
            place[last] = value
        self.last = job
        return job

    def start(
        self,
        job: dict[str, Any],
        env: dict[str, str] | None = None,
        program: tuple[str, ...] = ("-m", "scoring.runner"),
    ) -> subprocess.Popen[str]:
        """Start a runner on `job` and hand it its key."""
        path = self.home / f"job-{job['attempt_id'] or 'none'}.json"
        path.write_text(json.dumps(job))
        process = subprocess.Popen(
            [sys.executable, "-P", *program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert process.stdin is not None
        process.stdin.write(KEY_SEED + "\n")
        process.stdin.close()
        process.stdin = None
        return process

    def finish(self, process: subprocess.Popen[str], job: dict[str, Any]) -> Result:
        """Wait for a started runner and check what is true of every receipt."""
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        log = Path(job["host"]["log_path"])
        text = log.read_text(errors="replace") if log.exists() else ""
        result = Result(process.returncode, [json.loads(line) for line in out.splitlines()], err, text)
        if result.exit_code == 0:
            last = result.events[-1]
            receipt.verify(last["receipt"], last["signature"], last["public_key"])
            assert list(self.runs_dir.iterdir()) == [], "the run folder is still there"
        return result

    def run(self, script: str | bytes, **changes: Any) -> Result:
        """Run `script` to its receipt."""
        job = self.job(script, **changes)
        return self.finish(self.start(job), job)
