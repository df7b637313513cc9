"""A broker that is away, hangs, or has forgotten everything: uploads are taken, and what was taken is run."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.scripts import BIGRAM
from tests.e2e.site import Site, last_event

LOOKS = 5_000  # each a request, of some ten milliseconds


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Let processes stand still for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def upload(site: Site, name: str) -> dict[str, Any]:
    script = (BIGRAM + f"\n# {name}\n").encode()
    reply = site.api(
        "POST", "submissions", data={"competition": "quick", "phase": "open"}, files={"script": ("a.py", script)}
    )
    assert reply.status_code == 201, reply.text
    taken: dict[str, Any] = reply.json()
    return taken


def end_of(site: Site, submission: dict[str, Any]) -> str:
    return str(last_event(site.cli("attach", str(submission["id"]), "--json"))["event"])


def test_uploads_are_taken_while_the_broker_is_away_and_run_when_it_is_back(site: Site) -> None:
    with stopped(site.supervisor()):  # which would start it again at once
        site.kill("valkey")
        taken = [upload(site, f"away {number}") for number in range(2)]
        assert [one["state"] for one in taken] == ["received", "received"]
    assert [end_of(site, one) for one in taken] == ["ranked", "ranked"]


def test_an_upload_is_answered_while_the_broker_hangs(site: Site) -> None:
    with stopped(site.pid("valkey")):
        taken = upload(site, "hangs")
    assert end_of(site, taken) == "ranked"


def test_messages_that_the_broker_has_lost_are_sent_again(site: Site, broker_cli: Any) -> None:
    with stopped(site.pid("agent")):
        taken = [upload(site, f"emptied {number}") for number in range(2)]
        for _ in range(LOOKS):
            states = [site.api("GET", f"submissions/{one['id']}").json()["state"] for one in taken]
            if states == ["queued", "queued"]:
                break
        assert states == ["queued", "queued"]
        broker_cli("FLUSHALL")
    assert [end_of(site, one) for one in taken] == ["ranked", "ranked"]


@pytest.fixture
def broker_cli(site: Site) -> Any:
    from valkey import Valkey

    def say(word: str) -> object:
        with Valkey(unix_socket_path=site.broker_socket()) as client:
            return client.execute_command(word)

    return say
