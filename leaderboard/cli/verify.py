"""`--verify`: starts the program that runs both texts in the sandbox, and reads what it says.

The command itself has neither torch nor the sandbox; where they are not installed, one sentence says what to install.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leaderboard.cli.errors import PlatformFault, Usage
from leaderboard.cli.words import one_line

_PROGRAM = "scoring.verify"
_PROVED, _NOT_PROVED, _CANNOT = 0, 6, 3


@dataclass(frozen=True)
class Proof:
    """Whether both texts train the same, in one sentence."""

    holds: bool
    sentence: str
    differs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def verified(before: bytes, after: bytes, args: Sequence[str]) -> Proof:
    """Run three steps of two texts. Raises Usage where this installation cannot, PlatformFault where it fails."""
    if missing := [name for name in ("torch", "tokenizers", "scoring") if importlib.util.find_spec(name) is None]:
        raise Usage(f"--verify needs {' and '.join(missing)}: install `holdout[worker]`.")
    with tempfile.TemporaryDirectory() as folder:
        files = (Path(folder, "before.py"), Path(folder, "after.py"))
        for file, text in zip(files, (before, after), strict=True):
            file.write_bytes(text)
        command = [sys.executable, "-P", "-m", _PROGRAM, *map(str, files), *(["--", *args] if args else [])]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)  # it limits its own time
    try:
        said = json.loads(done.stdout)
        proof = Proof(bool(said["holds"]), one_line(said["sentence"]), tuple(map(str, said["differs"])))
    except (ValueError, KeyError, TypeError) as error:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise PlatformFault(f"The proof did not end, which is not your script's doing: {one_line(last[0])}") from error
    if done.returncode == _CANNOT:
        raise Usage(proof.sentence)
    return proof
