"""The baseline's way from the command line to the board, through the real CLI."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from steps import say

from leaderboard.env import PROJECT

SUBMIT = Path(sys.executable).parent / "submit"
BASELINE = "deploy/demo/scripts/baseline.py"


def show_baseline() -> bool:
    """Submit the baseline unless it stands on the board already, follow it, print the standings.

    Returns whether the board has a ranked row; says why where it has none.
    """
    if not board():
        say(f"$ submit {BASELINE}")
        ended = subprocess.run([SUBMIT, BASELINE], cwd=PROJECT, check=False)
        if ended.returncode:
            say(f"submit ended with {ended.returncode}; its reason stands above.")
    say("\n$ submit standings")
    subprocess.run([SUBMIT, "standings"], cwd=PROJECT, check=False)
    return bool(board())


def board() -> list[dict[str, Any]]:
    """Return the demo board's rows as the CLI has them."""
    asked = subprocess.run([SUBMIT, "standings", "--json"], cwd=PROJECT, check=False, capture_output=True, text=True)
    if asked.returncode:
        say(asked.stderr.strip())
        return []
    rows: list[dict[str, Any]] = json.loads(asked.stdout.splitlines()[-1])["rows"]
    return rows
