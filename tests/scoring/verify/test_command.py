"""`submit --fix --verify`, from the command to the sandbox and back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check import KNOB

pytestmark = pytest.mark.sandbox
DEMO = Path(__file__).parents[3] / "deploy/demo/scripts"
SUBMIT = Path(sys.executable).with_name("submit")


def submit(folder: Path, *words: str, start: tuple[str, ...] = (str(SUBMIT),), path: str = "") -> tuple[int, str, str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONPATH": path}
    done = subprocess.run([*start, *words], cwd=folder, env=env, capture_output=True, text=True)
    assert "Traceback" not in done.stderr + done.stdout
    return done.returncode, done.stdout, done.stderr


def test_the_demo_with_knobs_is_repaired_and_proved(tmp_path: Path) -> None:
    (tmp_path / "knobs.py").write_bytes((DEMO / "knobs.py").read_bytes())
    code, out, err = submit(tmp_path, "knobs.py", "--fix", "--verify")
    assert (code, err) == (0, "")
    assert "in knobs.fixed.py; knobs.py is as it was." in out
    assert "✓ accepted: nothing stops the repaired text." in out
    assert out.endswith(
        "Proved: three steps of both texts give the same losses, parameters and logits, bit by bit. "
        "Evaluation, which differed from training, is now the same as training.\n"
    )
    assert "os.environ" not in (tmp_path / "knobs.fixed.py").read_text()


def test_what_is_not_proved_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(KNOB)
    code, out, _ = submit(tmp_path, "train.py", "--fix", "--verify")
    assert code == 6
    assert "nothing is written" in out
    assert out.splitlines()[-1].startswith("Not proved: the script ended before its third step")
    assert not (tmp_path / "train.fixed.py").exists()


def test_where_torch_is_missing_one_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(KNOB)
    without = (
        "import importlib.util as u; real = u.find_spec; u.find_spec = lambda n: None if n == 'torch' else real(n);"
        "from leaderboard.cli.main import main; main()"
    )
    code, out, err = submit(tmp_path, "train.py", "--fix", "--verify", start=(sys.executable, "-c", without))
    assert (code, out) == (2, "")
    assert err == "submit: --verify needs torch: install `holdout[worker]`.\n"
    assert not (tmp_path / "train.fixed.py").exists()


def test_where_there_is_no_sandbox_one_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(KNOB)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text("import shutil\nshutil.which = lambda *words, **options: None\n")
    code, out, err = submit(tmp_path, "train.py", "--fix", "--verify", path=str(hooks))
    assert (code, out) == (2, "")
    assert err == "submit: This host cannot prove it: bubblewrap is missing: apt-get install -y bubblewrap.\n"
    assert not (tmp_path / "train.fixed.py").exists()


def test_modules_beside_the_script_do_not_stand_in_for_ours(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(KNOB)
    (tmp_path / "scoring.py").write_text("raise SystemExit('not ours')\n")
    code, out, _ = submit(tmp_path, "train.py", "--diff", "--verify")
    assert (code, out.splitlines()[-1][:11]) == (6, "Not proved:")
