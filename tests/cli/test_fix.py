"""`submit --fix` and `--diff`: the real repairs, a file beside the script, and nothing lost."""

import json
import subprocess

from tests.cli.conftest import Prompt
from tests.cli.test_check import CLEAN, KNOB


def test_a_repair_stands_beside_the_script_which_is_as_it_was(stranger: Prompt) -> None:
    path = stranger.write("train.py", KNOB)
    ended = stranger.submit("--fix", "train.py")
    beside = path.with_name("train.fixed.py")
    assert ended.code == 0
    assert path.read_text() == KNOB
    assert "os.environ" not in beside.read_text()
    assert ended.out.startswith("--- train.py\n+++ train.fixed.py\n@@ ")
    assert "\n-LR = float(os.environ.get('LR', '0.02'))\n" in ended.out
    assert ended.out.endswith(
        "in train.fixed.py; train.py is as it was.\n✓ accepted: nothing stops the repaired text.\n"
    )
    assert stranger.submit("--check", "train.fixed.py").code == 0


def test_what_is_shown_is_a_patch(stranger: Prompt) -> None:
    path = stranger.write("train.py", KNOB.rstrip("\n"))
    ended = stranger.submit("--fix", "train.py", "-o", "new.py")
    diff = ended.out[: ended.out.rindex("\ntrain.py: ") + 1]
    subprocess.run(["patch", "-s", "-o", "patched.py", "train.py"], input=diff, text=True, cwd=path.parent, check=True)
    assert path.with_name("patched.py").read_bytes() == path.with_name("new.py").read_bytes()


def test_a_diff_alone_writes_nothing(stranger: Prompt) -> None:
    path = stranger.write("train.py", KNOB)
    ended = stranger.submit("train.py", "--diff")
    assert ended.code == 0
    assert "nothing is written" in ended.out
    assert not path.with_name("train.fixed.py").exists()


def test_a_file_that_is_there_is_not_overwritten(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    other = stranger.write("train.fixed.py", "mine\n")
    ended = stranger.submit("--fix", "train.py")
    assert ended.code == 2
    assert ended.err == "submit: train.fixed.py is there already; delete it, or name another file with --output.\n"
    assert other.read_text() == "mine\n"
    assert stranger.submit("--fix", "train.py", "--output", "third.py").code == 0
    assert stranger.submit("--fix", "train.py", "--output", "third.py").code == 0  # it says the same


def test_what_stays_decides_how_it_ends(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB + "\nWD = os.environ['WD']\n")
    ended = stranger.submit("--diff", "train.py")
    assert ended.code == 4
    assert "no default" in ended.out


def test_a_clean_script_is_said_to_be_one(stranger: Prompt) -> None:
    path = stranger.write("train.py", CLEAN)
    ended = stranger.submit("--fix", "train.py")
    assert ended.code == 0
    assert ended.out.endswith("train.py: nothing that stops it can be repaired with certainty.\n")
    assert not path.with_name("train.fixed.py").exists()


def test_as_json_it_is_one_object(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    ended = stranger.submit("--diff", "train.py", "--json")
    said = json.loads(ended.out)
    assert (said["event"], said["file"], said["output"]) == ("fixed", "train.py", None)
    assert {edit["rule"] for edit in said["edits"]} == {"K101", "H703"}
    assert said["diff"].startswith("--- train.py\n")


def test_what_does_not_go_together_is_said(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    for words in (["--fix", "--check"], ["--diff", "-o", "x.py"], ["--fix", "train.py"]):
        ended = stranger.submit(*words, "train.py")
        assert ended.code == 2
        assert ended.err.count("\n") == 1


FALLBACK = "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n"


def test_what_only_warns_is_offered_and_repaired_when_asked_for(stranger: Prompt) -> None:
    stranger.write("train.py", FALLBACK + KNOB)
    ended = stranger.submit("--diff", "train.py")
    assert ended.code == 0
    assert "\n-    flash_attn = None\n" not in ended.out
    assert ended.out.endswith("1 more can be repaired with --also H701.\n")
    asked = stranger.submit("--diff", "train.py", "--also", "h701")
    assert "\n-    flash_attn = None\n" in asked.out
    assert "more can be repaired" not in asked.out
    said = json.loads(stranger.submit("--diff", "train.py", "--json").out)
    assert (said["also"], said["more"]) == ([], {"H701": 1})


def test_only_rules_that_there_are_can_be_asked_for(stranger: Prompt) -> None:
    stranger.write("train.py", KNOB)
    ended = stranger.submit("--fix", "train.py", "--also", "H799")
    assert (ended.code, ended.err) == (2, "submit: There is no rule 'H799' for --also; `submit rules` lists all.\n")
    ended = stranger.submit("--check", "train.py", "--also", "H701")
    assert (ended.code, ended.err) == (2, "submit: --also belongs to --fix; add it, or leave it out.\n")
