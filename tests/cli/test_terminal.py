"""What is seen: plain lines in a log, one updating line on a terminal, and the way out by Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess

import pytest

from tests.cli.conftest import SUBMIT, Prompt
from tests.cli.site import RANKED, STANDING, Site, running, submission


def on_a_terminal(prompt: Prompt, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run `submit` on a pseudo-terminal of 80 columns; return its exit code and everything it wrote."""
    master, slave = pty.openpty()
    environ = prompt.environ() | {"TERM": "xterm-256color", "COLUMNS": "80"} | (env or {})
    with subprocess.Popen([SUBMIT, *words], cwd=prompt.folder, env=environ, stdout=slave, stderr=slave) as process:
        os.close(slave)
        seen = b""
        try:
            while block := os.read(master, 4096):
                seen += block
        except OSError:  # Linux: the other side is closed
            pass
        finally:
            os.close(master)
        code = process.wait(timeout=30)
    return code, seen.decode()


def test_off_a_terminal_there_are_plain_lines(prompt: Prompt, site: Site) -> None:
    site.life(submission("auditing"), running(100), running(101), RANKED)
    out = prompt.submit("train.py").out
    assert "\x1b" not in out
    assert "\r" not in out
    assert out.count("  step 100 · 10 s of 1 min 00 s charged · startup 3 s\n") == 1
    assert "step 101" not in out


def test_on_a_terminal_one_line_updates(prompt: Prompt, site: Site) -> None:
    site.life(submission("queued"), running(100), running(101), RANKED)
    code, seen = on_a_terminal(prompt, "train.py")
    assert code == 0
    assert "\x1b[2K" in seen  # the line is erased and written again
    assert "▶ running · step 101" in seen
    assert seen.count("\n") - seen.count("\x1b[1A") <= 4  # upload, result, address: nothing else stays
    assert "\x1b[32m" in seen
    assert "ranked 2: 1.900 ± 0.010" in seen


def test_colour_can_be_turned_off(prompt: Prompt, site: Site) -> None:
    site.life(RANKED)
    _, seen = on_a_terminal(prompt, "train.py", env={"NO_COLOR": "1"})
    assert "\x1b[32m" not in seen


def test_json_on_a_terminal_stays_json(prompt: Prompt, site: Site) -> None:
    site.life(running(1), RANKED)
    _, seen = on_a_terminal(prompt, "train.py", "--json")
    assert [json.loads(line)["event"] for line in seen.splitlines()] == [
        "received", "state", "progress", "state", "ranked",
    ]  # fmt: skip


def test_text_from_elsewhere_cannot_drive_the_terminal(prompt: Prompt, site: Site) -> None:
    nasty = "a\x1b]0;title\x07b\x9b2Jc\r\u202ed"
    site.life(submission("failed", reason={"code": "crash", "message": nasty}))
    site.on("GET", "competitions/demo/phases/open/standings", {"rows": [{**STANDING, "team": nasty, "note": nasty}]})
    for words in (("train.py",), ("train.py", "--json"), ("standings",)):
        ended = prompt.submit(*words)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", ended.out + ended.err)


@pytest.mark.parametrize("words", [("train.py",), ("status", "17", "--wait")], ids=" ".join)
def test_ctrl_c_leaves_the_run_alone_and_says_how_to_look_again(prompt: Prompt, site: Site, words: tuple[str]) -> None:
    site.life(submission("queued"))
    with subprocess.Popen(
        [SUBMIT, *words],
        cwd=prompt.folder,
        env=prompt.environ(),
        stdout=-1,
        stderr=-1,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job hands it on ignored
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if "queued" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "submission 17 goes on. `submit status 17` shows it" in err
    assert "Traceback" not in err


def test_a_reader_that_leaves_is_no_accident(prompt: Prompt, site: Site) -> None:
    rows = [{**STANDING, "rank": rank} for rank in range(1, 3000)]
    site.on("GET", "competitions/demo/phases/open/standings", {"rows": rows})
    with subprocess.Popen(
        [SUBMIT, "standings"], cwd=prompt.folder, env=prompt.environ(), stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_a_terminal_without_unicode_is_served(prompt: Prompt, site: Site) -> None:
    site.life(RANKED)
    prompt.env["PYTHONIOENCODING"] = "ascii"
    assert prompt.submit("train.py").code == 0
