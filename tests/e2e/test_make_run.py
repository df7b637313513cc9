"""`make run`, with a two-second budget: ends with a ranked row, leaves nothing running, and goes on from there."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import small_corpus
from tests.e2e.site import ROOT, free_port, manage
from tests.state import home as state


@pytest.fixture(scope="module")
def place() -> Path:
    """Return a state folder that has a small corpus and its shards, and beside it the demo's competition made short."""
    folder = Path(state) / "make-run"
    small_corpus(folder / "var" / "corpus" / "demo.jsonl")
    manage(folder / "var", "migrate", "--verbosity", "0")
    manage(folder / "var", "shards", "build", "--set", "demo", "--corpus", "demo", "--held-out-bytes", "40000")
    text = (ROOT / "deploy" / "demo" / "competition.toml").read_text()
    short = {"seconds": "2", "term_seconds": "0.5", "minimum_lease_share": "0.0"}
    for key, value in {**short, "startup_cap_seconds": "300"}.items():  # starting may take a busy machine a while
        text, changed = re.subn(rf"(?m)^{key} = [\d.]+", f"{key} = {value}", text)
        assert changed, key
    (folder / "competition.toml").write_text(text)
    return folder


def start(place: Path, port: int, **more: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"HOLDOUT_HOME": str(place / "var"), "PORT": str(port), "ONCE": "1"} | more
    command = [sys.executable, "deploy/demo/run.py", str(place / "competition.toml")]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=400, check=False)


def test_the_first_start_ends_with_a_ranked_row_and_the_second_loses_nothing(place: Path) -> None:
    port = free_port()
    first = start(place, port)
    assert first.returncode == 0, first.stdout + first.stderr
    assert f"http://127.0.0.1:{port}" in first.stdout
    assert len(re.findall(r"password \S{16}", first.stdout)) == 2
    assert re.search(r"ranked 1: \d\.\d{3}", first.stdout)
    running = subprocess.run(["pgrep", "-f", str(place)], capture_output=True, text=True, check=False)
    assert running.stdout == ""

    shutil.rmtree(place / "var" / "logs")
    second = start(place, port)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "$ submit deploy" not in second.stdout, "the baseline stands already"
    assert re.findall(r"password \S+", second.stdout) == re.findall(r"password \S+", first.stdout)


def test_a_taken_port_is_one_sentence(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = start(place, taken.getsockname()[1])
    assert ended.returncode == 1
    assert "is taken" in ended.stderr
    assert "Traceback" not in ended.stderr
