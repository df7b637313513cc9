"""`python -m reviewer`: several files, each format, an exit code for a machine."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.reviewer.scripts import BASELINE, KNOBS

ROOT = Path(__file__).resolve().parents[2]
REVIEW = BASELINE.replace("weights_only=True", "weights_only=False")


@dataclass
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    for name, text in {"good.py": BASELINE, "bad.py": KNOBS, "ask.py": REVIEW}.items():
        (tmp_path / name).write_text(text)

    def _run(*words: str, given: str = "") -> Ended:
        command = [sys.executable, "-m", "reviewer", *words]
        env = {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, input=given, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    return _run


def test_the_worst_verdict_is_the_exit_code(run: Run) -> None:
    assert [run("good.py").code, run("good.py", "ask.py").code, run("ask.py", "bad.py", "good.py").code] == [0, 9, 4]


def test_a_file_that_is_not_there_costs_no_other_its_report(run: Run) -> None:
    ended = run("nowhere.py", "bad.py", "--json")
    assert (ended.code, json.loads(ended.out)["verdict"]) == (2, "reject")
    assert ended.err == "reviewer: nowhere.py cannot be read: No such file or directory\n"


def test_standard_input_is_a_file_too(run: Run) -> None:
    ended = run("-", "--format", "github", given=KNOBS)
    assert ended.code == 4
    assert ended.out.startswith("::error file=stdin,")


def test_a_policy_comes_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[policy]\nversion = "7"\n[policy.rules]\nK101 = "info"\nE204 = "off"\n')
    ended = run("bad.py", "--json", "--policy", "policy.toml")
    assert (ended.code, json.loads(ended.out)["policy"]) == (0, "7")
    (tmp_path / "policy.toml").write_text("[rules]\nK999 = 'info'\n")
    ended = run("bad.py", "--policy", "policy.toml")
    assert (ended.code, ended.out) == (2, "")
    assert "K999" in ended.err
