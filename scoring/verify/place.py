"""A folder with a small data set that is made up for a proof, as a trainer sees it."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from scoring.sandbox.spec import Bind, Data, Mount, SandboxError

_KIT = Path(__file__).resolve().parents[1] / "kit" / "prepare.py"
_VOCAB, _LENGTH, _BATCH = 512, 64, 4
_SIZES = ("--vocab", str(_VOCAB), "--held-out-bytes", "4000", "--gate-tokens", "40000", "--file-tokens", "80000")


class Place:
    """A data set below a folder; every one is the same. Raises SandboxError where this host cannot make it."""

    def __init__(self, folder: Path) -> None:
        self._open = folder / "open"
        corpus = folder / "corpus.jsonl"
        corpus.write_text(_corpus(), encoding="utf-8")
        command = [sys.executable, "-m", "scoring.scorer", "build", "--set", "made-up", "--seed", "3", *_SIZES]
        for flag, path in (("corpus", corpus), ("open", self._open), ("sealed", folder / "sealed"), ("key", "key")):
            command += [f"--{flag}", str(folder / path)]
        built = subprocess.run(command, cwd=_KIT.parents[2], capture_output=True, stdin=subprocess.DEVNULL)
        if built.returncode:
            last = built.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
            raise SandboxError(f"the data set for the proof could not be made: {last[0]}")
        for path in (folder, self._open, *self._open.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # inside, another user reads them
        self._manifest: dict[str, Any] = json.loads((self._open / "manifest.json").read_text())

    def mounts(self, script: bytes) -> tuple[Mount, ...]:
        """Return what a text finds inside."""
        files = self._manifest["train"]["files"]
        constants = {
            "seed": 11, "vocab_size": _VOCAB, "bos": self._manifest["bos"], "budget_seconds": 3600.0,
            "startup_cap_seconds": 3600.0, "excluded_steps": 1000, "term_seconds": 10.0,
            "eval_timeout_seconds": 60.0, "seq_len": _LENGTH, "batch_size": _BATCH, "data_dir": "/holdout/data",
            "train_files": files, "gate_files": len(files), "dev_file": "/holdout/dev.bin",
            "tokenizer": "/holdout/tokenizer.json", "token_bytes": "/holdout/token_bytes.bin", "steps_fifo": "",
        }  # fmt: skip
        return (
            Data(script, "/holdout/script"),
            Data(script, "/work/train.py"),
            Data(json.dumps(constants).encode(), "/holdout/constants.json"),
            Bind(_KIT, "/work/prepare.py"),
            Bind(self._open / "train", "/holdout/data"),
            *(Bind(self._open / name, f"/holdout/{name}") for name in ("dev.bin", "tokenizer.json", "token_bytes.bin")),
        )


def _corpus() -> str:
    """Return documents of invented words, one a line."""
    draw = random.Random(5)  # noqa: S311 - the same words every time
    words = ["".join(draw.choices("abcdefghijklmnoprstuvyz", k=draw.randint(2, 7))) for _ in range(900)]
    texts = (" ".join(draw.choices(words, k=draw.randint(30, 80))) + "." for _ in range(1200))
    return "".join(json.dumps({"text": text}) + "\n" for text in texts)
