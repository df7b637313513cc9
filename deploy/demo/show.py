"""The baseline's way from the command line to the board, through the real CLI."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from people import COMPETITION, PHASE
from steps import say

from leaderboard.env import PROJECT

SUBMIT = Path(sys.executable).parent / "submit"
BASELINE = "deploy/demo/scripts/baseline.py"


def show_baseline(url: str, token: str) -> bool:
    """Submit the baseline unless it stands on the board already, follow it, print the standings.

    Returns whether the board has a ranked row; says why where it has none.
    """
    environ = os.environ | {
        "SUBMIT_URL": url,
        "SUBMIT_TOKEN": token,
        "SUBMIT_COMPETITION": COMPETITION,
        "SUBMIT_PHASE": PHASE,
    }
    if not board(environ):
        say(f"$ submit {BASELINE}")
        ended = subprocess.run([SUBMIT, BASELINE], cwd=PROJECT, env=environ, check=False)
        if ended.returncode:
            say(f"submit ended with {ended.returncode}; its reason stands above.")
    say("\n$ submit standings")
    subprocess.run([SUBMIT, "standings"], cwd=PROJECT, env=environ, check=False)
    return bool(board(environ))


def board(environ: dict[str, str]) -> list[dict[str, Any]]:
    """Return the demo board's rows as the CLI has them."""
    asked = subprocess.run(
        [SUBMIT, "standings", "--json"], cwd=PROJECT, env=environ, check=False, capture_output=True, text=True
    )
    if asked.returncode:
        say(asked.stderr.strip())
        return []
    rows: list[dict[str, Any]] = json.loads(asked.stdout.splitlines()[-1])["rows"]
    return rows
