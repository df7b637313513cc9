"""What is refused before a run, by API, command line and page: each in one sentence that says what to do about it."""

from typing import Any

import pytest

from tests.e2e.desk import Desk, join, plain
from tests.e2e.scripts import BIGRAM, ONLY_AT_EVALUATION
from tests.e2e.site import COMPETITION, Site, last_event, manage
from tests.leaderboard.web.pages import text

# name: (content, rule, a part of the finding)
REJECTED = {
    "empty": (b"", "G", "empty"),
    "not UTF-8": (b"\xff\xfe\x00 not text", "G", "UTF-8"),
    "syntax error": (b"def broken(:\n    pass\n", "G", "syntax"),
    "environment knob": (b"import os\nLR = float(os.environ['LR'])\nprint(LR)\n" + BIGRAM.encode(), "K101", "LR"),
    "eval-only branch": (ONLY_AT_EVALUATION.encode(), "E20", "training"),
}
CLOSED, OTHER = {"phase": "over"}, {"launch": "python other.py --lr 3"}
# name → content, form fields, and what they are answered: a status and a code
REFUSED: dict[str, tuple[bytes, dict[str, str], int, str]] = {
    "another launch command": (BIGRAM.encode(), OTHER, 400, "bad_launch"),
    "a closed phase": (BIGRAM.encode(), CLOSED, 409, "phase_closed"),
    "too large": (BIGRAM.encode() + b"#" * 300_000, {}, 413, "too_large"),
    "a note of two lines": (BIGRAM.encode(), {"note": "one\ntwo"}, 400, "bad_note"),
}


def by_api(site: Site, content: bytes, **fields: str) -> Any:
    """Send a script as programs do."""
    data = {"competition": "quick", "phase": "open", **fields}
    return site.api("POST", "submissions", data=data, files={"script": ("a.py", content)})


@pytest.mark.parametrize("way", ["API", "page"])
@pytest.mark.parametrize("name", REJECTED)
def test_the_audit_rejects_with_rule_and_line(site: Site, desk: Desk, name: str, way: str) -> None:
    content, rule, words = REJECTED[name]
    number = desk.sent(content) if way == "page" else by_api(site, content).json()["id"]
    ended = site.cli("attach", str(number), "--json")
    assert (ended.returncode, last_event(ended)["event"]) == (4, "rejected"), ended.stdout + ended.stderr
    seen = site.api("GET", f"submissions/{number}").json()
    finding = seen["report"]["findings"][0]
    assert finding["rule"].startswith(rule)
    assert words.lower() in str(finding).lower()
    said = desk.submission(number)
    assert "✕ rejected" in said
    assert plain(seen["reason"]["message"]) in said
    assert f"{finding['rule']} {finding['name']} line {finding['line']}" in said
    assert "Why" in said


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_request_is_refused_with_one_sentence_and_keeps_nothing(site: Site, desk: Desk, name: str) -> None:
    content, fields, status, code = REFUSED[name]
    before = site.ask("select count(*) from submissions_submission")
    reply = by_api(site, content, **fields)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    page = desk.upload(content, **fields)
    assert page.status_code == status
    assert plain(reply.json()["message"]) in plain(text(page))
    if len(content) < 262_144:
        assert "class Bigram" in text(page), "what was chosen is not lost"
    assert site.ask("select count(*) from submissions_submission") == before


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--launch", OTHER["launch"]), "launch"), (("--phase", "nowhere"), "nowhere"), (("--phase", "over"), "closed")],
)
def test_the_command_refuses_a_wrong_request_with_one_sentence(
    site: Site, options: tuple[str, ...], words: str
) -> None:
    ended = site.submit(BIGRAM + "\n# refused\n", *options)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert words in (ended.stdout + ended.stderr)
    assert "Traceback" not in ended.stderr


def test_a_script_that_is_too_large_is_refused(site: Site) -> None:
    ended = site.submit(BIGRAM + "#" * 300_000)
    assert (ended.returncode, last_event(ended)["code"]) == (2, "too_large")
    assert "262,144" in ended.stdout + ended.stderr


def test_a_phase_that_is_not_there_is_no_page(site: Site, desk: Desk) -> None:
    page = desk.upload(BIGRAM.encode(), phase="nowhere")
    assert (page.status_code, "Nothing here." in text(page)) == (404, True)


@pytest.fixture(scope="module")
def narrow(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A competition that takes one submission a day."""
    path = tmp_path_factory.mktemp("narrow") / "competition.toml"
    text = COMPETITION.read_text().replace('slug = "quick"', 'slug = "narrow"')
    path.write_text(text.replace("submissions = 1000", "submissions = 1"))
    manage(site.home, "competition", "load", str(path))
    join(site, "narrow")
    return "narrow"


def test_beyond_the_quota_the_next_slot_is_named(site: Site, desk: Desk, narrow: str) -> None:
    first = desk.sent(BIGRAM.encode(), competition=narrow)
    second = BIGRAM.encode() + b"\n# second\n"
    page, reply = desk.upload(second, competition=narrow), by_api(site, second, competition=narrow)
    assert (page.status_code, reply.status_code, reply.json()["code"]) == (429, 429, "quota")
    assert reply.json()["message"] in text(page)
    assert reply.json()["next_slot"] == reply.json()["renews"]
    ended = site.submit(second.decode(), "--competition", narrow)
    assert (ended.returncode, last_event(ended)["event"]) == (5, "quota")
    assert last_event(site.cli("attach", str(first), "--json"))["event"] == "ranked"
    assert "0 of 1 left today" in desk.submission(first)


def test_an_expired_or_wrong_token_says_so(site: Site) -> None:
    stranger = Site(site.home, site.url, "not-a-token")
    ended = stranger.submit(BIGRAM)
    assert ended.returncode == 3, ended.stdout + ended.stderr


def test_a_form_from_before_a_login_is_refused_and_keeps_nothing(site: Site, desk: Desk) -> None:
    before = site.ask("select count(*) from submissions_submission")
    address = "/competitions/quick/phases/open/submit/"
    page = desk.http.post(address, data={"csrfmiddlewaretoken": "x" * 64}, files={"script": ("a.py", BIGRAM.encode())})
    assert (page.status_code, "This form is out of date." in text(page)) == (403, True)
    assert site.ask("select count(*) from submissions_submission") == before


def test_nobody_listening_is_a_platform_fault(site: Site) -> None:
    nowhere = Site(site.home, "http://127.0.0.1:9", site.token)
    ended = nowhere.submit(BIGRAM)
    assert ended.returncode == 7
    assert "127.0.0.1:9" in ended.stdout + ended.stderr
