"""An agent takes its host for itself, and clears what a killed one left."""

import os
import subprocess
import sys
from pathlib import Path

from leaderboard.env import PROJECT

TAKE = "from leaderboard.agent.app import claim_this_host as take; take(); print('taken', flush=True); input()"


def agent(home: Path) -> subprocess.Popen[str]:
    environ = os.environ | {"HOLDOUT_HOME": str(home)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", TAKE], cwd=PROJECT, env=environ, text=True, **pipes)


def test_leftovers_go_and_a_second_agent_is_refused(tmp_path: Path) -> None:
    left = tmp_path / "agent" / "runs" / "r001.a001" / "inputs"
    left.mkdir(parents=True)
    (left / "train.py").write_text("secret")
    left.chmod(0o500)
    job = tmp_path / "agent" / "jobs" / "7-x"
    job.mkdir(parents=True)
    half = tmp_path / "agent" / "checkpoints" / ".incoming-x"
    half.mkdir(parents=True)
    whole = tmp_path / "agent" / "checkpoints" / ("0" * 64)
    whole.mkdir()
    first = agent(tmp_path)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == "taken\n"
        assert not left.exists()
        assert not job.exists()
        assert not half.exists()
        assert whole.exists(), "a sealed checkpoint is still to be scored"
        second = agent(tmp_path)
        _, said = second.communicate()
        assert second.returncode == 1
        assert "Another agent already works" in said
        assert "Traceback" not in said
    finally:
        first.communicate("\n")
    third = agent(tmp_path)
    assert third.communicate("\n")[0] == "taken\n", "the lock goes with its process"


def test_an_agent_without_a_folder_to_work_in_says_so_and_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("no folder")
    started = agent(tmp_path)
    _, said = started.communicate("\n")
    assert started.returncode == 1
    assert said.startswith("An agent cannot work in")
    assert "Traceback" not in said
