"""Steps of the start that a person watches: what runs, its own progress, how long it took."""

import subprocess
import sys
import time
from typing import TextIO

from leaderboard.env import PROJECT


class Failed(Exception):
    """A step ended badly; the message is the sentence to show."""


def say(text: str, to: TextIO | None = None) -> None:
    """Print a line at once, also into a pipe."""
    print(text, file=to or sys.stdout, flush=True)


def manage(what: str, *arguments: str) -> None:
    """Run a `manage.py` command whose output is the step's progress; raise Failed with its exit status."""
    start = time.monotonic()
    say(f"· {what}")
    ended = subprocess.run([sys.executable, str(PROJECT / "manage.py"), *arguments], cwd=PROJECT, check=False)
    if ended.returncode:
        raise Failed(
            f"{what}: `manage.py {' '.join(arguments)}` ended with {ended.returncode}; its reason stands above."
        )
    seconds = time.monotonic() - start
    if seconds > 2:
        say(f"  {what}: {seconds:.0f} s")
