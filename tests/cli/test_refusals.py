"""What cannot go on says so in one sentence, with the exit code of whose it is."""

from typing import Any

import pytest

from tests.cli.conftest import Prompt
from tests.cli.site import DROP, RANKED, Answer, Site, submission


def refuse(site: Site, status: int, code: str, **data: Any) -> None:
    site.on("POST", "submissions", Answer({"code": code, "message": "No, because of this.", **data}, status))


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [(400, "bad_launch", 2), (404, "unknown_phase", 2), (409, "phase_closed", 2), (413, "too_large", 2),
     (401, "token_expired", 3), (403, "forbidden", 3), (429, "slow_down", 7)],
)  # fmt: skip
def test_a_refusal_is_passed_on(prompt: Prompt, site: Site, status: int, code: str, exit_code: int) -> None:
    refuse(site, status, code)
    ended = prompt.submit("train.py", "--json")
    assert ended.code == exit_code
    assert ended.last == {"event": "error", "code": code, "reason": "No, because of this."}
    assert ended.err == "submit: No, because of this.\n"


def test_a_duplicate_that_is_waited_for_has_the_first_ones_outcome(prompt: Prompt, site: Site) -> None:
    refuse(site, 409, "duplicate", submission=17, version=3)
    site.on("GET", "submissions/17", RANKED)
    ended = prompt.submit("train.py", "--json")
    assert (ended.code, ended.last["event"], ended.last["submission"]) == (0, "ranked", 17)
    assert "`submit status 17` shows it." in ended.out


def test_a_duplicate_names_the_way_to_the_first_one(prompt: Prompt, site: Site) -> None:
    refuse(site, 409, "duplicate", submission=9, version=2)
    ended = prompt.submit("train.py", "--json", "--no-wait")
    assert (ended.code, ended.last["submission"]) == (2, 9)
    assert "`submit status 9` shows it." in ended.err


def test_a_used_up_quota_says_when_the_next_slot_opens(prompt: Prompt, site: Site) -> None:
    refuse(site, 429, "quota", next_slot="2099-01-05T00:00:00+00:00", used=5, limit=5)
    ended = prompt.submit("train.py", "--json")
    assert ended.code == 5
    assert ended.last["event"] == "quota"
    assert (ended.last["next_slot"], ended.last["used"], ended.last["limit"]) == ("2099-01-05T00:00:00+00:00", 5, 5)
    assert "The next slot opens Mon 05 Jan 00:00" in ended.err


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>Welcome to the hotel</html>"),
        Answer(b"[" * 100_000),
        Answer(b"\xff\xfe"),
        Answer({"hello": 1}),
        Answer([1, 2]),
        Answer(submission("received", id="seventeen"), 201),
        Answer(submission("received", runs=[3]), 201),
        Answer(b"nothing", 404),
        Answer(b"oops", 500),
        Answer({"code": "oops", "message": "x"}, 503),
        DROP,
    ],
    ids=lambda answer: f"{getattr(answer, 'status', 'drop')}-{str(getattr(answer, 'body', ''))[:12]}",
)
def test_a_broken_server_is_a_fault_of_the_platform(prompt: Prompt, site: Site, answer: Any) -> None:
    site.on("POST", "submissions", answer)
    ended = prompt.submit("train.py", "--json")
    assert ended.code == 7
    assert ended.last["event"] == "error"
    assert ended.err.count("\n") == 1
    assert site.url in ended.err or "server's answer" in ended.err


def test_a_site_that_says_what_ails_it_is_quoted(prompt: Prompt, site: Site) -> None:
    site.on("POST", "submissions", Answer({"code": "disk_full", "message": "The disk is full."}, 507))
    ended = prompt.submit("train.py", "--json")
    assert (ended.code, ended.last["code"]) == (7, "disk_full")
    assert ended.err == f"submit: {site.url}: The disk is full.\n"


def test_an_answer_that_breaks_while_following_is_a_fault_of_the_platform(prompt: Prompt, site: Site) -> None:
    site.life(submission("queued"), Answer(b"{"))
    assert prompt.submit("train.py").code == 7


def test_a_server_that_is_not_there_is_named(prompt: Prompt, other_site: Site) -> None:
    gone = other_site.url.replace("127.0.0.1", "127.0.0.2")
    prompt.env["SUBMIT_URL"] = gone
    ended = prompt.submit("train.py")
    assert ended.code == 7
    assert ended.err == f"submit: {gone} cannot be reached; check the address and that the server runs.\n"


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--nonsense"], ["train.py", "more.py"], ["train.py", "--timeout", "soon"]),
        *(["nowhere.py"], ["."], ["/dev/null"], [""], ["--check"], ["--check", "nowhere.py"]),
        *(["status"], ["status", "x"], ["standings", "x"], ["--no-wait", "status"]),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_one_sentence_and_2(prompt: Prompt, site: Site, words: list[str]) -> None:
    ended = prompt.submit(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert site.asked == []


def test_a_script_named_like_a_subcommand_is_sent_with_its_path(prompt: Prompt, site: Site) -> None:
    site.life()
    prompt.write("status", "print(1)\n")
    ended = prompt.submit("status")
    assert ended.code == 2
    assert "./status" in ended.err
    assert prompt.submit("--no-wait", "status").code == 2
    assert prompt.submit("./status", "--no-wait").code == 0
    assert site.asked[0].fields()["script"] == b"print(1)\n"


def test_without_a_server_nothing_is_asked(stranger: Prompt) -> None:
    ended = stranger.submit("train.py")
    assert ended.code == 2
    assert "SUBMIT_URL" in ended.err


def test_several_open_phases_must_be_told_apart(prompt: Prompt, site: Site) -> None:
    phases = [{"slug": "one", "state": "open"}, {"slug": "two", "state": "open"}, {"slug": "old", "state": "closed"}]
    site.on("GET", "competitions", Answer([{"slug": "demo", "phases": phases}]))
    del prompt.env["SUBMIT_PHASE"]
    ended = prompt.submit("train.py")
    assert ended.code == 2
    assert "demo/one, demo/two." in ended.err


def test_the_only_open_phase_is_meant(prompt: Prompt, site: Site) -> None:
    phases = [{"slug": "one", "state": "open"}, {"slug": "old", "state": "closed"}]
    site.life().on("GET", "competitions", Answer([{"slug": "demo", "phases": phases}]))
    del prompt.env["SUBMIT_PHASE"], prompt.env["SUBMIT_COMPETITION"]
    assert prompt.submit("train.py", "--no-wait").code == 0
    assert site.asked[-1].fields()["phase"] == b"one"
