"""Every way a submission can go, from the command line through real processes to the sentence a person reads."""

import pytest

from tests.e2e.desk import Desk, plain
from tests.e2e.scripts import BAD_ENDS, BIGRAM, TWO_RANKS
from tests.e2e.site import Site, last_event
from tests.leaderboard.web.pages import text


def test_a_good_script_is_trained_scored_and_ranked(site: Site, desk: Desk, ranked: int) -> None:
    row = site.api("GET", f"submissions/{ranked}").json()["standing"]
    assert 0 < row["bpb"] < 6
    assert (row["note"], row["n"]) == ("counts of pairs", 1)
    assert 0 < row["compute_used_seconds"] <= row["compute_granted_seconds"] == 2
    (best,) = site.api("GET", "competitions/quick/phases/open/standings").json()["rows"]
    assert (best["rank"], best["team"]) == (1, "carl")
    assert best["bpb"] <= row["bpb"]
    said = desk.submission(ranked)
    assert "● ranked" in said
    assert f"{row['bpb']:.3f}" in said
    assert "step:39 train_loss:0.0" in said


def test_the_same_script_twice_is_a_duplicate(site: Site, desk: Desk, ranked: int) -> None:
    again = site.submit(BIGRAM)
    assert again.returncode == 0
    assert "is already here as version" in again.stdout
    assert last_event(again)["submission"] == ranked
    refused = last_event(site.submit(BIGRAM, "--no-wait"))
    assert refused["code"] == "duplicate"
    page = desk.upload(BIGRAM.encode())
    assert page.status_code == 409
    assert f"(submission {ranked}, ranked)." in text(page)
    assert f"(submission {ranked}, ranked)." in refused["reason"]


@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_bad_script_ends_with_its_reason_and_the_agent_goes_on(site: Site, desk: Desk, name: str) -> None:
    script, code, words = BAD_ENDS[name]
    ended = site.submit(script)
    event = last_event(ended)
    assert (ended.returncode, event["event"], event["code"]) == (6, "failed", code), ended.stdout + ended.stderr
    assert words in event["reason"]
    assert "\n" not in event["reason"]
    said = desk.submission(event["submission"])
    assert "! failed" in said
    assert f"Failed (your script): {plain(event['reason'])}" in said


def test_torchrun_with_two_ranks_is_ranked(site: Site) -> None:
    ended = site.submit(TWO_RANKS, "--launch", "torchrun --standalone --nproc_per_node=2 train.py")
    assert last_event(ended)["event"] == "ranked", ended.stdout + ended.stderr


def test_nothing_of_a_run_is_left_on_the_host(site: Site, ranked: int) -> None:
    for folder in ("runs", "jobs", "logs"):
        assert list((site.home / "agent" / folder).iterdir()) == []
    assert list((site.home / "agent" / "checkpoints").glob(".*")) == []
