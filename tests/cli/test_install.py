"""The command is light: what it loads, how soon it answers, and that the base dependencies are enough."""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.cli.conftest import Prompt

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("django", "celery", "torch", "httpx", "libcst", "rich", "reviewer", "scoring")


def test_importing_the_command_loads_nothing_heavy() -> None:
    code = f"import leaderboard.cli.main, sys, json; print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == []


def test_help_lists_every_option_and_exit_code(stranger: Prompt) -> None:
    ended = stranger.submit("--help")
    assert ended.code == 0
    for word in ("--check", "--competition", "--phase", "--launch", "--note", "--no-wait", "--timeout", "--json"):
        assert word in ended.out
    said = " ".join(ended.out.split())
    for name in ("login", "logout", "whoami", "list", "status ID", "attach ID", "logs ID", "cancel ID", "withdraw ID"):
        assert name in said
    assert "130 interrupted" in said


def test_a_plain_install_has_a_working_command(tmp_path: Path, stranger: Prompt) -> None:
    """`pip install .` in a fresh environment: the base dependencies, and nothing of this one's."""
    source = tmp_path / "source"
    for name in ("leaderboard", "reviewer", "scoring"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-input", "--no-compile"]
    subprocess.run([*pip, "--constraint", ROOT / "requirements.lock", "."], check=True, cwd=source)
    for name in ("django", "torch", "celery"):
        assert subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 1
    stranger.write("train.py", "import os\n\nLR = float(os.environ.get('LR', '0.02'))\n")
    command = [tmp_path / "venv/bin/submit", "--check", "train.py"]
    done = subprocess.run(command, cwd=stranger.folder, env=stranger.environ(), capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert "train.py:3:12 K101" in done.stdout
