"""Flags are knobs: each stands in the effective configuration with its default and the value that it has here."""

import pytest

from reviewer import LaunchFacts, review
from tests.reviewer.scripts import BASELINE

PARSER = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default="0.02")
parser.add_argument("-s", "--steps", type=int, default=100)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--name")
parser.set_defaults(name="a")
args = parser.parse_args()
"""
TEXT = BASELINE.replace('if __name__ == "__main__":', PARSER + '\nif __name__ == "__main__":')


def knobs(*args: str) -> dict[str, tuple[object, object]]:
    launch = LaunchFacts("python", 1, args) if args else None
    report = review(TEXT, launch=launch)
    assert report.verdict == "review"
    return {k.key: (k.default, k.value) for k in report.knobs if k.rule == "K102"}


def test_without_flags_every_knob_has_its_default() -> None:
    assert knobs() == {
        "--lr": (0.02, 0.02),
        "--steps": (100, 100),
        "--compile": (False, False),
        "--name": ("a", "a"),
    }
    said = [f.message for f in review(TEXT).findings if f.rule == "K102"]
    assert said[0] == (
        "`--lr` comes from the launch command; without it, it is 0.02.\nWrite the value there, as in `lr = 0.02`."
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--lr", "0.1", "--steps", "7", "--compile", "--name", "b"),
        ("--lr=0.1", "-s7", "--comp", "--name=b"),
        ("--name", "b", "--compile", "-s", "7", "--lr", "1e-1"),
    ],
)
def test_the_launch_command_gives_values(words: tuple[str, ...]) -> None:
    given = {key: value for key, (_, value) in knobs(*words).items()}
    assert given == {"--lr": 0.1, "--steps": 7, "--compile": True, "--name": "b"}


def test_only_a_launch_lets_the_audit_speak_of_a_mismatch() -> None:
    def mismatches(launch: LaunchFacts | None) -> list[str]:
        return [f.message.split("\n")[0] for f in review(TEXT, launch=launch).findings if f.rule == "T904"]

    assert mismatches(None) == []
    assert mismatches(LaunchFacts("python", 1, ("--lr", "0.1"))) == []
    assert mismatches(LaunchFacts("torchrun", 2)) == []  # it asks the kit for its rank
    (said,) = mismatches(LaunchFacts("python", 1, ("--wd", "0.1")))
    assert said == "The launch command gives `--wd`, and nothing in the file takes it."
