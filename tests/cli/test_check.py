"""`submit --check`: the real audit, here, without a network and without settings."""

import base64
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from leaderboard.cli.check import check
from leaderboard.cli.errors import PlatformFault, Usage
from leaderboard.cli.launchline import Allowed, read_launch
from reviewer import LaunchFacts
from tests.cli.conftest import SUBMIT, Prompt

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
KNOB = "import os\n\nLR = float(os.environ.get('LR', '0.02'))\nprint(LR)\n\n\n" + CLEAN.partition("\n\n")[2]


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
    script = tmp_path / "train.py"
    script.write_text("x = 1\n")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(PlatformFault, match="not your script's doing"):
        check([script])


REVIEW = CLEAN.replace("weights_only=True", "weights_only=False")
PACKED = (
    f"import base64, zlib\nexec(zlib.decompress(base64.b64decode({base64.b64encode(zlib.compress(KNOB.encode()))})))\n"
)


def test_several_files_end_with_the_worst_verdict(stranger: Prompt) -> None:
    for name, text in {"a.py": CLEAN, "b.py": REVIEW, "c.py": KNOB}.items():
        stranger.write(name, text)
    assert stranger.submit("--check", "a.py", "b.py").code == 9
    ended = stranger.submit("--check", "c.py", "b.py", "a.py")
    assert ended.code == 4
    assert [line[:7] for line in ended.out.splitlines() if "✓" in line or "✕" in line or "?" in line] == [
        "c.py: ✕",
        "b.py: ?",
        "a.py: ✓",
    ]


def test_a_file_that_cannot_be_read_is_said_once_the_others_are_judged(stranger: Prompt) -> None:
    stranger.write("a.py", KNOB)
    ended = stranger.submit("--check", "gone.py", ".", "a.py")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "gone.py" in ended.err
    assert "folder" in ended.err
    assert ended.out.startswith("a.py:3:12 K101 ")
    ended = stranger.submit("--check", "gone.py", "a.py", "--format", "json")
    assert [json.loads(line)["event"] for line in ended.out.splitlines()] == ["checked", "error"]


def test_ci_reads_annotations(stranger: Prompt) -> None:
    stranger.write("a.py", KNOB)
    ended = stranger.submit("--check", "a.py", "--format", "github")
    assert ended.code == 4
    assert ended.out.startswith("::error file=a.py,line=3,endLine=3,col=12,endColumn=40,title=K101 env-read::")


def test_editors_read_sarif_even_of_nothing(stranger: Prompt) -> None:
    stranger.write("a.py", KNOB)
    ended = stranger.submit("--check", "a.py", "--format", "sarif")
    assert (ended.code, json.loads(ended.out)["runs"][0]["results"][0]["ruleId"]) == (4, "K101")
    ended = stranger.submit("--check", "gone.py", "--format", "sarif")
    assert (ended.code, json.loads(ended.out)["runs"][0]["results"]) == (2, [])


@pytest.mark.parametrize(
    "words",
    [
        ["--check", "train.py", "--json", "--format", "sarif"],
        ["--check", "train.py", "--format", "xml"],
        ["train.py", "--format", "sarif"],
        ["train.py", "--unpacked"],
        ["--check", "--unpacked", "train.py", "train.py"],
        ["--check", "train.py", "--policy", "nowhere.toml"],
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_one_sentence(stranger: Prompt, words: list[str]) -> None:
    ended = stranger.submit(*words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "checked" not in ended.out


def test_the_text_inside_a_packed_script_can_be_read(stranger: Prompt) -> None:
    stranger.write("train.py", PACKED)
    ended = stranger.submit("--check", "--unpacked", "train.py")
    assert (ended.code, ended.out, ended.err) == (4, KNOB, "")
    stranger.write("train.py", CLEAN)
    ended = stranger.submit("--check", "--unpacked", "train.py")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "submit: train.py is not packed: what stands in it is what runs.\n"
    stranger.write("train.py", "import base64, zlib\nexec(zlib.decompress(base64.b64decode('abc')))\n")
    ended = stranger.submit("--check", "--unpacked", "train.py")
    assert (ended.code, ended.out) == (4, "")
    assert "cannot be shown" in ended.err


def test_nobody_may_be_there_to_read_that_text(stranger: Prompt) -> None:
    stranger.write("train.py", PACKED)
    reader, writer = os.pipe()
    os.close(reader)
    command = [SUBMIT, "--check", "--unpacked", "train.py"]
    ended = subprocess.run(command, cwd=stranger.folder, env=stranger.environ(), stdout=writer, stderr=-1, text=True)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


# Terms: the policy of a file, and the launch that a script names.

CONTEST = """
slug = "demo"
[policy]
version = "9"
[policy.rules]
K101 = "info"
[[phases]]
slug = "old"
opens = 2020-01-01T00:00:00Z
closes = 2020-02-01T00:00:00Z
[[phases]]
slug = "now"
opens = 2020-02-01T00:00:00Z
closes = 2098-01-01T00:00:00Z
launch = { default = "torchrun --standalone --nproc_per_node=2 train.py", processes = [1, 2], env = { LR = ["1"] } }
"""


def launch_findings(stranger: Prompt, *words: str) -> set[str]:
    ended = stranger.submit("--check", "train.py", "--json", *words)
    assert ended.code in (0, 4, 9), ended.err
    return {finding["rule"] for finding in ended.last["findings"]} & {"T904", "K102"}


def test_a_script_is_judged_under_the_launch_that_it_names(stranger: Prompt) -> None:
    stranger.write("train.py", CLEAN)
    assert launch_findings(stranger) == set()
    stranger.write("train.py", '#: submit launch="torchrun --standalone --nproc_per_node=2 train.py"\n' + CLEAN)
    assert launch_findings(stranger) == {"T904"}
    assert launch_findings(stranger, "--launch", "python train.py") == set()


def test_a_competition_file_gives_policy_and_launch(stranger: Prompt) -> None:
    stranger.write("contest.toml", CONTEST)
    stranger.write("train.py", KNOB)
    ended = stranger.submit("--check", "train.py", "--json", "--policy", "contest.toml")
    assert (ended.last["policy"], {f["severity"] for f in ended.last["findings"] if f["rule"] == "K101"}) == (
        "9",
        {"info"},
    )
    assert launch_findings(stranger, "--policy", "contest.toml") == {"T904"}
    assert launch_findings(stranger, "--policy", "contest.toml", "--phase", "old") == set()
    stranger.write("policy.toml", '[rules]\nK101 = "warn"\n')
    assert stranger.submit("--check", "train.py", "--policy", "policy.toml").code == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("competition=other", "for the competition other"),
        ("phase=gone", "has old, now"),
        ('launch="torchrun --nproc_per_node=3 train.py"', "1 or 2 processes"),
        ('launch="SEED=1 python train.py"', "set no SEED"),
        ('launch="python train.py --lr 1"', "'--lr'"),
        ('launch="bash train.py"', "python or torchrun"),
    ],
)
def test_what_the_competition_file_does_not_allow_is_said(stranger: Prompt, line: str, words: str) -> None:
    stranger.write("contest.toml", CONTEST)
    stranger.write("train.py", f"#: submit {line}\n{CLEAN}")
    ended = stranger.submit("--check", "train.py", "--policy", "contest.toml")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert words in ended.err


@pytest.mark.parametrize(
    ("text", "words"),
    [("x", "not TOML"), ("policy = 3", "table"), ('[policy.rules]\nK999 = "info"', "K999"), ("[a]", "no such setting")],
)
def test_a_policy_that_is_none_is_one_sentence(stranger: Prompt, text: str, words: str) -> None:
    stranger.write("policy.toml", text)
    ended = stranger.submit("--check", "train.py", "--policy", "policy.toml")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("submit: policy.toml")
    assert words in ended.err


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("python train.py", LaunchFacts()),
        ("LR=1 B='a b' python my.py --x 'y z'", LaunchFacts("python", 1, ("--x", "y z"), frozenset({"LR", "B"}))),
        ("torchrun train.py", LaunchFacts("torchrun")),
        ("torchrun --standalone --nproc-per-node 4 train.py a", LaunchFacts("torchrun", 4, ("a",))),
        ("torchrun --nproc_per_node=8 --standalone train.py", LaunchFacts("torchrun", 8)),
    ],
)
def test_a_launch_command_is_read_as_the_platform_reads_it(command: str, facts: LaunchFacts) -> None:
    assert read_launch(command, "train.py", Allowed()) == facts


@pytest.mark.parametrize(
    "command",
    ["", "python", "python -u train.py", "sh train.py", "torchrun --nproc_per_node=0 train.py", "A=1",
     "torchrun --nnodes=2 a.py", "torchrun --nproc_per_node", "python 'train.py"],
)  # fmt: skip
def test_a_launch_command_that_cannot_be_meant_is_refused(command: str) -> None:
    with pytest.raises(Usage, match=r"^here: "):
        read_launch(command, "here", Allowed())
