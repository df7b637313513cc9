"""Every way a submission can go, from the command line through real processes to the sentence a person reads."""

import pytest

from tests.e2e.scripts import BAD_ENDS, BIGRAM
from tests.e2e.site import Site, last_event


def test_a_good_script_is_trained_scored_and_ranked(site: Site) -> None:
    ended = site.submit(BIGRAM, "--note", "counts of pairs")
    event = last_event(ended)
    assert (ended.returncode, event["event"]) == (0, "ranked"), ended.stdout + ended.stderr
    assert 0 < event["bpb"] < 6
    row = site.api("GET", f"submissions/{event['submission']}").json()["standing"]
    assert (row["note"], row["n"], row["bpb"]) == ("counts of pairs", 1, event["bpb"])
    assert 0 < row["compute_used_seconds"] <= row["compute_granted_seconds"] == 2
    (best,) = site.api("GET", "competitions/quick/phases/open/standings").json()["rows"]
    assert (best["rank"], best["team"]) == (1, "carl")
    assert best["bpb"] <= row["bpb"]


def test_the_same_script_twice_is_a_duplicate(site: Site) -> None:
    script = BIGRAM + "\n# a second time\n"
    assert site.submit(script).returncode == 0
    again = site.submit(script)
    assert again.returncode == 0
    assert "is already here as version" in again.stdout
    assert last_event(again)["event"] == "ranked"
    refused = site.submit(script, "--no-wait")
    assert (refused.returncode, last_event(refused)["code"]) == (2, "duplicate")


@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_bad_script_ends_with_its_reason_and_the_agent_goes_on(site: Site, name: str) -> None:
    script, code, words = BAD_ENDS[name]
    ended = site.submit(script)
    event = last_event(ended)
    assert (ended.returncode, event["event"], event["code"]) == (6, "failed", code), ended.stdout + ended.stderr
    assert words in event["reason"]
    assert "\n" not in event["reason"].strip() or code in ("crash", "load_failed")


def test_torchrun_with_two_ranks_is_ranked(site: Site) -> None:
    ended = site.submit(BIGRAM + "\n# two ranks\n", "--launch", "torchrun --standalone --nproc_per_node=2 train.py")
    assert last_event(ended)["event"] == "ranked", ended.stdout + ended.stderr


def test_nothing_of_a_run_is_left_on_the_host(site: Site) -> None:
    site.submit(BIGRAM + "\n# leaves nothing\n")
    assert list((site.home / "agent" / "runs").iterdir()) == []
    assert list((site.home / "agent" / "jobs").iterdir()) == []
