"""`submit logs`: the log and nothing else on stdout, through broken connections and repeated runs, to the run's end."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Prompt
from tests.cli.site import DROP, RANKED, Answer, Site, submission

RUN = {"index": 0, "state": "running"}


def piece(text: str, offset: int = 0, *, final: bool = False, attempt: int = 1, missing: int = 0) -> Answer:
    where = {"offset": offset, "next": offset + len(text.encode()), "missing": missing}
    return Answer({**where, "text": text, "final": final, "attempt": attempt})


def going(state: str = "running", run: str = "running", **more: Any) -> dict[str, Any]:
    return submission(state, runs=[{**RUN, "state": run}], **more)


def offsets(site: Site) -> list[int]:
    return [int(ask.query["offset"][0]) for ask in site.asked if ask.path.endswith("/log")]


def test_without_f_what_there_is_now_is_printed(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going()).on("GET", "submissions/17/log", piece("step 1\nstep 2"))
    ended = prompt.submit("logs", "17")
    assert (ended.code, ended.out, ended.err) == (0, "step 1\nstep 2\n", "")


def test_what_never_reached_the_site_is_said_at_the_end(prompt: Prompt, site: Site) -> None:
    end = piece("step 1", final=True, missing=12_345)
    site.on("GET", "submissions/17", going("running", "sealed")).on("GET", "submissions/17/log", end)
    for words in (("logs", "17"), ("logs", "17", "-f")):
        ended = prompt.submit(*words)
        assert ended.out == "step 1\n"
        assert "The last 12,345 bytes of this log never reached the site." in ended.err


def test_a_long_log_comes_in_pieces(prompt: Prompt, site: Site) -> None:
    long = "x" * 65_535 + "\n"
    site.on("GET", "submissions/17", going())
    site.on("GET", "submissions/17/log", piece(long), piece(long, 65_536), piece("end\n", 131_072))
    assert prompt.submit("logs", "17").out == long * 2 + "end\n"
    assert offsets(site) == [0, 65_536, 131_072]


def test_before_the_first_attempt_it_says_why_there_is_nothing(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", submission("queued")).on("GET", "submissions/17/log", piece("", attempt=0))
    ended = prompt.submit("logs", "17")
    assert (ended.code, ended.out) == (0, "")
    assert "no log yet: ⋯ queued" in ended.err


def test_following_outlives_broken_connections_and_ends_with_the_run(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going(), DROP, going("running", "sealed"))
    site.on(
        "GET",
        "submissions/17/log",
        piece("one\n"),
        DROP,
        piece("two\n", 4),
        Answer(b"", 502),
        piece("three", 8, final=True),
    )
    ended = prompt.submit("logs", "17", "-f")
    assert (ended.code, ended.out) == (0, "one\ntwo\nthree\n")
    assert "answers again" in ended.err
    assert "`submit attach 17`" in ended.err


@pytest.mark.parametrize(
    ("state", "run", "code"),
    [("failed", "failed", 6), ("errored", "errored", 7), ("withdrawn", "cancelled", 6), ("ranked", "scored", 0)],
)
def test_following_ends_as_the_run_ended(prompt: Prompt, site: Site, state: str, run: str, code: int) -> None:
    why = {"code": "why", "message": "Because of this."}
    end = going(state, run, reason=why if code else None, standing=RANKED["standing"] if not code else None)
    site.on("GET", "submissions/17", end).on("GET", "submissions/17/log", piece("one\n", final=True))
    ended = prompt.submit("logs", "17", "--follow")
    assert (ended.code, ended.out) == (code, "one\n")
    assert ("Because of this." in ended.err) == bool(code)


def test_a_run_that_starts_again_starts_its_log_again(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going(), going("running", "waiting"), going("running", "sealed"))
    site.on(
        "GET",
        "submissions/17/log",
        piece("lost\n", final=True),
        piece("ter\n", 5, attempt=2),
        piece("better\n", attempt=2, final=True),
    )
    ended = prompt.submit("logs", "17", "-f")
    assert (ended.code, ended.out) == (0, "lost\nbetter\n")
    assert "starts again (attempt 2)" in ended.err
    assert offsets(site) == [0, 5, 0]


def test_following_something_in_review_ends_with_its_code(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", submission("in_review", reason={"code": "D301", "message": "A person looks."}))
    site.on("GET", "submissions/17/log", piece("", attempt=0))
    assert prompt.submit("logs", "17", "-f").code == 9


def test_runs_count_from_1_and_one_too_many_is_told(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", submission("running", runs=[RUN, {**RUN, "index": 1}]))
    site.on("GET", "submissions/17/log", piece("second\n"))
    assert prompt.submit("logs", "17", "--run", "2").out == "second\n"
    assert site.asked[-1].query["run"] == ["1"]
    ended = prompt.submit("logs", "17", "--run", "3")
    assert ended.code == 2
    assert "has 2 runs" in ended.err


def test_a_log_cannot_drive_the_terminal_and_its_progress_bars_are_lines(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going())
    site.on("GET", "submissions/17/log", piece("\x1b]0;t\x07a\r1%\r2%\r\n\x9b2J\u202eb\n"))
    assert prompt.submit("logs", "17").out == " ]0;t a\n1%\n2%\n 2J b\n"


def test_as_json_each_piece_says_where_it_is(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going("running", "sealed"))
    site.on("GET", "submissions/17/log", piece("one\n"), piece("two\n", 4, final=True))
    ended = prompt.submit("logs", "17", "-f", "--json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [(event["event"], event.get("offset")) for event in events] == [
        ("log", 0),
        ("log", 4),
        ("log_ended", None),
    ]


def test_a_wait_that_is_over_says_how_to_read_on(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", going()).on("GET", "submissions/17/log", piece(""))
    ended = prompt.submit("logs", "17", "-f", "--timeout", "0.3")
    assert ended.code == 8
    assert "`submit logs 17 -f`" in ended.err


@pytest.mark.parametrize("body", [{}, {"text": 3, "next": 0, "final": True, "attempt": 1}, []])
def test_a_log_that_makes_no_sense_is_a_fault_of_the_platform(prompt: Prompt, site: Site, body: Any) -> None:
    site.on("GET", "submissions/17", going()).on("GET", "submissions/17/log", Answer(body))
    assert prompt.submit("logs", "17", "-f").code == 7
