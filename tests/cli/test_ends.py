"""Every way a submission can end has its exit code, its last event and its sentence."""

import pytest

from tests.cli.conftest import Prompt
from tests.cli.site import RANKED, STANDING, Site, running, submission

FINDING = {"rule": "K101", "name": "env-read", "severity": "reject", "line": 41, "column": 6, "end_line": 41,
           "message": "The value of `LR` comes from outside the file.\nWrite `LR = 0.02` there.", "snippet": "",
           "fixable": True, "view": "source", "inherited": False}  # fmt: skip
REPORT = {
    "verdict": "reject",
    "ruleset": "1",
    "script_sha256": "0" * 64,
    "packed": False,
    "findings": [FINDING],
    "knobs": [],
}


def test_a_ranked_submission_ends_with_0_and_its_row(prompt: Prompt, site: Site) -> None:
    site.life(submission("auditing"), submission("queued"), running(100), submission("scoring"), RANKED)
    ended = prompt.submit("train.py", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.last == {
        "event": "ranked", "submission": 17, "rank": 2, "bpb": 1.9, "n": 3, "ci_low": 1.89, "ci_high": 1.91,
        "url": f"{site.url}/submissions/17",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "code"),
    [("rejected", 4), ("failed", 6), ("withdrawn", 6), ("disqualified", 6), ("errored", 7), ("in_review", 9)],
)
def test_every_other_end_has_its_code_and_reason(prompt: Prompt, site: Site, state: str, code: int) -> None:
    site.life(submission(state, reason={"code": "why", "message": "Because of this."}))
    ended = prompt.submit("train.py", "--json")
    assert ended.code == code
    last = ended.last
    assert (last["event"], last["code"], last["reason"], last["submission"]) == (state, "why", "Because of this.", 17)
    assert "Because of this." in prompt.submit("status", "17").out


def test_a_ranked_sentence_has_rank_interval_unit_and_address(prompt: Prompt, site: Site) -> None:
    site.life(RANKED)
    lines = prompt.submit("train.py").out.splitlines()
    place, quota = f"{site.url} (demo, open)", "1 of 5 submissions used, free again if it is rejected"
    assert lines[0] == f"Submission 17, version 3 is with {place}; {quota}."
    assert lines[-2:] == [
        "● ranked 2: 1.900 ± 0.010 (n = 3) bits per byte, lower is better",
        f"{site.url}/submissions/17",
    ]


def test_a_ranked_version_that_is_not_the_teams_best_says_so(prompt: Prompt, site: Site) -> None:
    site.life(submission("ranked", standing={**STANDING, "rounding": 0.001, "stands": False}))
    ended = prompt.submit("train.py")
    assert ended.code == 0
    assert "your team stands with a better version" in ended.out


def test_a_rejection_shows_each_finding_with_place_and_remedy(prompt: Prompt, site: Site) -> None:
    site.life(submission("rejected", report=REPORT, reason={"code": "K101", "message": "1 finding stops this file."}))
    ended = prompt.submit("train.py")
    assert ended.code == 4
    assert (
        "train.py:41:6 K101 The value of `LR` comes from outside the file.\n    Write `LR = 0.02` there.\n" in ended.out
    )


def test_without_waiting_the_upload_is_the_end(prompt: Prompt, site: Site) -> None:
    site.life()
    ended = prompt.submit("train.py", "--no-wait", "--json")
    assert (ended.code, ended.last["event"], ended.last["submission"]) == (0, "received", 17)
    assert [asked.method for asked in site.asked] == ["POST"]


def test_status_of_something_under_way_ends_with_0(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", running(812))
    ended = prompt.submit("status", "17")
    assert ended.code == 0
    assert "▶ running, step 812 · 1 min 21 s of 1 min 00 s charged · startup 3 s" in ended.out


def test_status_with_wait_follows_to_the_end(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", running(1), running(2), RANKED)
    ended = prompt.submit("status", "17", "--wait", "--json")
    assert (ended.code, ended.last["event"]) == (0, "ranked")


def test_attach_follows_what_was_sent_and_shows_all_that_happened(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", submission("queued"), running(2), RANKED)
    ended = prompt.submit("attach", "17")
    assert ended.code == 0
    assert "⋯ queued: Now queued." in ended.out
    assert "● ranked 2" in ended.out
    assert prompt.submit("attach", "17", "--json").last["event"] == "ranked"


BREACH = {"code": "breach", "message": "strict positions: 246 of 246 differ when what follows them is replaced."}
PROBES = [{"run": 0, "power": 1, "drawn": "evenly", "asked": {"strict": 246, "repeat": 12}, "verdict": "breach"}]


def test_a_breach_is_the_scripts_and_says_kind_and_count(prompt: Prompt, site: Site) -> None:
    site.life(submission("failed", reason=BREACH, probes=PROBES))
    ended = prompt.submit("train.py")
    assert ended.code == 6
    assert "! failed (your script): strict positions: 246 of 246 differ" in ended.out
    status = prompt.submit("status", "17")
    assert status.code == 6
    assert "probes: 246 positions asked with the text after them replaced, 12 rows asked in other company; breach" in (
        status.out
    )
    assert prompt.submit("status", "17", "--json").last["probes"] == PROBES


def test_status_knows_the_private_board(prompt: Prompt, site: Site) -> None:
    standing = {**STANDING, "rounding": 0.001}
    hidden = {**STANDING, "rank": 5, "bpb": 1.95, "ci_low": 1.94, "ci_high": 1.96}
    site.on("GET", "submissions/17", submission("ranked", standing=standing, private=hidden))
    assert "private board: ranked 5, 1.950 ± 0.010 (n = 3) bits per byte." in (
        prompt.submit("status", "17", "--private").out
    )
    assert "private" not in prompt.submit("status", "17").out


def test_a_private_board_that_is_sealed_is_told(prompt: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", RANKED)
    assert "sealed until the release" in prompt.submit("status", "17", "--private").out
