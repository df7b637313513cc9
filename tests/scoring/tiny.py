"""A set of shards that builds in a blink, a kit folder over it, and a model server to score scripts against."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.scorer.build import Plan, build
from scoring.scorer.task import ScoreJob

ROOT = Path(__file__).parents[2]
VOCAB, LENGTH, BATCH = 300, 32, 4


def corpus(documents: int = 400, seed: int = 7) -> list[str]:
    """Make documents of invented words; any two share no 13-gram."""
    draw = random.Random(seed)  # noqa: S311 the same words every time
    words = ["".join(draw.choices("abcdefghijklmnoprstuvyöß", k=draw.randint(2, 7))) for _ in range(900)]
    return [" ".join(draw.choices(words, k=draw.randint(20, 60))) + "." for _ in range(documents)]


def write_corpus(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Tiny:
    home: Path

    @property
    def open_dir(self) -> Path:
        return self.home / "shards" / "tiny"

    @property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads((self.open_dir / "manifest.json").read_text())
        return manifest

    def job(self, channel: socket.socket | int, **changes: Any) -> ScoreJob:
        fields = {
            "shard": str(self.home / "sealed/tiny/public.shard"),
            "key": str(self.home / "sealed/key"),
            "commitment": self.manifest["public"]["commitment"],
            "checkpoint": "c" * 64,
            "seq_len": LENGTH,
            "batch_size": BATCH,
            "vocab_size": VOCAB,
            "token_bytes": str(self.open_dir / "token_bytes.bin"),
            "bos": self.manifest["bos"],
            "timeout_seconds": 60.0,
            "channel_fd": channel if isinstance(channel, int) else channel.fileno(),
            "threads": 1,
        }
        return ScoreJob.model_validate({**fields, **changes})

    def probing(self, channel: socket.socket | int, **changes: Any) -> dict[str, Any]:
        """How server P behind `channel` is asked: one strict position per row, a quarter of the rows again."""
        fields = {
            "strict_per_row": 1.0,
            "repeats": 0.25,
            "power": 1,
            "reference": None,
            "channel_fd": channel if isinstance(channel, int) else channel.fileno(),
            "dev": str(self.open_dir / "dev.bin"),
        }
        return {**fields, **changes}

    def kit(self, folder: Path, **changes: Any) -> Path:
        """Lay out what a competitor downloads: prepare.py, constants.json and the open shards."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.open_dir, folder / "shards")
        shutil.copy(ROOT / "scoring/kit/prepare.py", folder)
        constants = {
            "seed": 11,
            "vocab_size": VOCAB,
            "bos": self.manifest["bos"],
            "budget_seconds": 2.0,
            "startup_cap_seconds": 30.0,
            "excluded_steps": 2,
            "term_seconds": 0.5,
            "eval_timeout_seconds": 60.0,
            "seq_len": LENGTH,
            "batch_size": BATCH,
            "data_dir": "shards/train",
            "train_files": self.manifest["train"]["files"],
            "gate_files": 1,
            "dev_file": "shards/dev.bin",
            "tokenizer": "shards/tokenizer.json",
            "token_bytes": "shards/token_bytes.bin",
            "steps_fifo": "steps",
        }
        (folder / "constants.json").write_text(json.dumps({**constants, **changes}))
        return folder


def build_tiny(home: Path, **changes: Any) -> Tiny:
    tiny = Tiny(home)
    plan = {
        "corpus": write_corpus(home / "corpus.jsonl", corpus()),
        "name": "tiny",
        "open_dir": tiny.open_dir,
        "sealed_dir": home / "sealed" / "tiny",
        "key": home / "sealed" / "key",
        "seed": 3,
        "vocab_size": VOCAB,
        "held_out_bytes": 4_000,
        "gate_tokens": 2_000,
        "file_tokens": 20_000,
    }
    build(Plan(**{**plan, **changes}), lambda _: None)
    return tiny


@contextmanager
def model_server(folder: Path, script: str, checkpoint: str = "out/final.pt") -> Iterator[tuple[socket.socket, Any]]:
    """Start the real model server on a script; gives the scorer's end of the channel and the process."""
    (folder / "script").write_text(script, encoding="utf-8")
    if not (folder / "constants.json").exists():
        (folder / "constants.json").write_text('{"seed": 11}')
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = [sys.executable, str(ROOT / "scoring/harness/model_server.py"), str(theirs.fileno()), checkpoint]
    options = ["--script", str(folder / "script"), "--constants", str(folder / "constants.json"), "--threads", "1"]
    process = subprocess.Popen(
        program + options, cwd=folder, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    theirs.close()
    try:
        yield ours, process
    finally:
        process.kill()
        process.communicate()
        ours.close()
