"""Cancel and withdraw ask on a terminal, want --yes elsewhere, and say what became of it."""

import os
import pty
import subprocess

import pytest

from tests.cli.conftest import SUBMIT, Prompt
from tests.cli.site import API, RANKED, Answer, Site, submission

VERBS = ("cancel", "withdraw")


def at_a_terminal(prompt: Prompt, answer: str, *words: str) -> tuple[int, str]:
    """Run `submit` with a terminal as its input, type the answer when asked; return exit code and stderr."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [SUBMIT, *words], cwd=prompt.folder, env=prompt.environ(), stdin=slave, stdout=-1, stderr=-1
    ) as process:
        os.close(slave)
        os.write(master, answer.encode())
        _, err = process.communicate(timeout=30)
        os.close(master)
    return process.returncode, err.decode()


def posts(site: Site) -> list[str]:
    return [asked.path for asked in site.asked if asked.method == "POST"]


@pytest.mark.parametrize("verb", VERBS)
def test_with_yes_it_is_done_and_said(prompt: Prompt, site: Site, verb: str) -> None:
    site.on("POST", f"submissions/17/{verb}", submission("withdrawn"))
    ended = prompt.submit(verb, "17", "--yes")
    assert (ended.code, ended.out) == (0, "Submission 17 is – withdrawn.\n")
    assert prompt.submit(verb, "17", "-y", "--json").last["state"] == "withdrawn"


@pytest.mark.parametrize("verb", VERBS)
def test_without_a_terminal_nothing_is_done_unasked(prompt: Prompt, site: Site, verb: str) -> None:
    site.on("GET", "submissions/17", submission("running"))
    ended = prompt.submit(verb, "17")
    assert ended.code == 2
    assert f"`submit {verb} 17 --yes`" in ended.err
    assert posts(site) == []


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 130), ("\n", 130), ("\x04", 130)])
def test_at_a_terminal_only_yes_is_yes(prompt: Prompt, site: Site, verb: str, answer: str, code: int) -> None:
    site.on("GET", "submissions/17", submission("running")).on(
        "POST", f"submissions/17/{verb}", submission("withdrawn")
    )
    ended, err = at_a_terminal(prompt, answer, verb, "17")
    assert ended == code
    assert "Submission 17 (demo, open, version 3) is ▶ running." in err
    assert posts(site) == ([f"{API}submissions/17/{verb}"] if code == 0 else [])
    assert ("Nothing was changed." in err) == (code != 0)


def test_cancelling_what_is_ranked_names_the_other_command(prompt: Prompt, site: Site) -> None:
    over = Answer({"code": "already_over", "message": "This submission is ranked; that stays as it is."}, 409)
    site.on("POST", "submissions/17/cancel", over).on("GET", "submissions/17", RANKED)
    ended = prompt.submit("cancel", "17", "--yes", "--json")
    assert (ended.code, ended.last["code"]) == (2, "already_over")
    assert "`submit withdraw 17` takes it off the board." in ended.err


def test_somebody_elses_is_not_there(prompt: Prompt, site: Site) -> None:
    ended = prompt.submit("withdraw", "17", "--yes")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
