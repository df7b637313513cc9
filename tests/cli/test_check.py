"""`submit --check`: the real audit, here, without a network and without settings."""

import json
import subprocess
from pathlib import Path

import pytest

from leaderboard.cli.check import check
from leaderboard.cli.errors import PlatformFault
from tests.cli.conftest import Prompt

CLEAN = '''\
"""Trains nothing, correctly."""

import torch


def load_for_eval(checkpoint_path: str, device: torch.device) -> torch.nn.Module:
    model = torch.nn.Linear(1, 1)
    model.load_state_dict(torch.load(checkpoint_path, map_location=device, weights_only=True))
    return model.eval()


if __name__ == "__main__":
    torch.save(torch.nn.Linear(1, 1).state_dict(), "out/final.pt")
'''
KNOB = "import os\n\nLR = float(os.environ.get('LR', '0.02'))\n\n\n" + CLEAN.partition("\n\n")[2]


def test_a_clean_script_ends_with_0(stranger: Prompt) -> None:
    stranger.write("train.py", CLEAN)
    ended = stranger.submit("--check", "train.py")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("✓ accepted: nothing stops this file.\n")


def test_a_finding_is_file_line_column_code_and_what_to_do(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    ended = stranger.submit("train.py", "--check")
    assert ended.code == 4
    place, remedy = ended.out.splitlines()[:2]
    assert place.startswith("train.py:3:12 K101 ")
    assert "`LR`" in place
    assert remedy.startswith("    ")


def test_the_report_as_json_is_one_object(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    ended = stranger.submit("--check", "train.py", "--json")
    assert ended.code == 4
    report = json.loads(ended.out)
    assert (report["event"], report["file"], report["verdict"]) == ("checked", "train.py", "reject")
    assert {(finding["rule"], finding["line"]) for finding in report["findings"]} == {("K101", 3)}


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"def (", b"(" * 5000, b"x = 1\0"], ids=repr)
def test_what_is_no_script_is_rejected_with_its_reason(stranger: Prompt, text: bytes) -> None:
    (stranger.folder / "train.py").write_bytes(text)
    ended = stranger.submit("--check", "train.py")
    assert ended.code == 4
    assert ended.out.startswith("train.py:1:")


def test_checking_reads_no_settings_at_all(stranger: Prompt) -> None:
    stranger.write("train.py", CLEAN)
    stranger.write(".submit.toml", "this is no TOML")
    stranger.env = {"SUBMIT_URL": "nonsense"}
    assert stranger.submit("--check", "train.py").code == 0


def test_a_sick_host_is_not_the_scripts_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    script = tmp_path / "train.py"
    script.write_text("x = 1\n")
    monkeypatch.setattr(subprocess, "run", no_process)
    with pytest.raises(PlatformFault, match="not your script's doing"):
        check(script, as_json=False)
