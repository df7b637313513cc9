"""The limited process: its report is the same; what the text does to it is a rejection, what the host does a fault."""

import json
import subprocess
import sys

import pytest

from reviewer import Policy, Report, ReviewerFault, child, review
from tests.reviewer.scripts import BASELINE, KNOBS


def test_the_process_gives_the_same_report() -> None:
    policy = Policy(rules={"K101": "warn"}, allow_env=frozenset({"GPT_LAYERS"}), baseline=BASELINE)
    for text in (BASELINE, KNOBS, "def f(:\n", "# ä\n"):
        assert review(text, policy) == review(text, policy, isolated=False)


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "G013", "SIGSEGV"),
        ("raise MemoryError('no room')", "G013", "MemoryError: no room"),
        ("print('{}')", "G014", "no readable answer"),
        ("print('[' * 5000)", "G014", "no readable answer"),
        ("print('not json')", "G014", "no readable answer"),
        ("pass", "G014", "no readable answer"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "G012", "processor time"),
    ],
)
def test_an_end_that_a_text_can_bring_about_is_a_rejection(
    monkeypatch: pytest.MonkeyPatch, program: str, code: str, words: str
) -> None:
    monkeypatch.setattr(child, "_START", program)
    report = review("x = 1\n")
    assert report.verdict == "reject"
    assert [f.rule for f in report.findings] == [code]
    assert words in report.findings[0].message


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("import signal; signal.pause()", "within 1 s"),
        (child._START.replace("import sys;", "import sys; sys.modules['libcst'] = None;"), "libcst"),
        (
            child._START.replace("import sys;", "import sys; sys.modules['reviewer.rules.k101_env_read'] = None;"),
            "k101",
        ),
    ],
)
def test_an_end_that_no_text_can_bring_about_is_a_fault_of_the_host(
    monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    monkeypatch.setattr(child, "_START", program)
    if "pause" in program:
        monkeypatch.setattr(child, "WALL_SECONDS", 1.0)
    with pytest.raises(ReviewerFault, match=words):
        review("x = 1\n")


def test_a_host_that_starts_no_process_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ReviewerFault, match="cannot be started"):
        review("x = 1\n")


def test_a_report_about_another_text_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Report.of(script_sha256="0" * 64, findings=[]).to_json()
    monkeypatch.setattr(child, "_START", f"print({json.dumps(json.dumps(other))})")
    assert [f.rule for f in review("x = 1\n").findings] == ["G014"]


def test_the_limits_hold() -> None:
    probe = (
        "import sys; sys.path.insert(0, sys.argv[1]); from reviewer import child; child.limit_this_process()\n"
        "try:\n    x = bytearray(4 << 30)\nexcept MemoryError:\n    print('memory')\n"
        "import tempfile\ntry:\n    with tempfile.TemporaryFile(buffering=0) as f: f.write(b'x')\n"
        "except OSError:\n    print('files')\n"
        "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0])\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", probe, child._ROOT], capture_output=True, text=True)
    assert done.stdout.split() == ["memory", "files", str(child.CPU_SECONDS)], done.stderr


def test_importing_the_reviewer_brings_no_parser() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import reviewer; print('libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", program, child._ROOT], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
