"""Full disks under a running platform: its own, and the one of the host that trains."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.e2e.desk import Desk
from tests.e2e.scripts import BIGRAM, TALKS
from tests.e2e.site import Site, last_event
from tests.e2e.test_refusals import by_api
from tests.leaderboard.web.pages import text
from tests.servers import ON_SERVERS
from tests.smalldisk import WHY_NOT, SmallDisk, may_mount

pytestmark = pytest.mark.skipif(not may_mount(), reason=WHY_NOT)
SENTENCE = "The site's disk is full, so nothing was taken in; try again later."
KIT = "/competitions/quick/kit.zip?phase=open"


@pytest.fixture
def disk(site: Site) -> SmallDisk:
    """The disk of the platform's state; PostgreSQL's tables lie elsewhere."""
    return SmallDisk(site.home)


def give_back_slack(site: Site) -> None:
    """Cut SQLite's log to nothing: what it had grown to is room that a full disk cannot take away."""
    if not ON_SERVERS:
        with closing(sqlite3.connect(site.home / "db.sqlite3", timeout=60)) as database:
            assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


@pytest.fixture
def hosts_disk(site: Site) -> SmallDisk:
    """The disk of the agent's folder."""
    return SmallDisk(site.home / "agent")


@pytest.fixture
def kit_is_not_packed(site: Site) -> Iterator[None]:
    for archive in (site.home / "downloads").glob("*"):
        archive.unlink()
    yield
    assert [path.suffix for path in (site.home / "downloads").iterdir()] == [".zip"]


def log_of(site: Site, number: int) -> tuple[str, int]:
    """Return a finished run's whole log, and how many bytes of it never came here."""
    whole, piece = "", {"final": False, "next": 0}
    while not piece["final"]:
        piece = site.api("GET", f"submissions/{number}/log?offset={piece['next']}").json()
        whole += piece["text"]
    return whole, piece["missing"]


def end_of(site: Site, number: int) -> str:
    return str(last_event(site.cli("attach", str(number), "--json"))["event"])


def at_work(site: Site) -> bool:
    """Return whether the host has a run; asks the site too, which must answer meanwhile."""
    assert site.api("GET", "competitions").status_code == 200
    return any(path.is_dir() for path in (site.home / "agent" / "runs").iterdir())


@pytest.mark.usefixtures("kit_is_not_packed")
def test_a_site_without_room_says_so_reads_on_and_catches_up(site: Site, desk: Desk, disk: SmallDisk) -> None:
    number = desk.sent(TALKS.encode())
    while not site.api("GET", f"submissions/{number}/log").json()["next"]:
        pass
    give_back_slack(site)
    with disk.full():
        while at_work(site):
            pass
        if ON_SERVERS:  # the end is taken in, and with it the log is what it is
            while site.api("GET", f"submissions/{number}").json()["state"] == "running":
                pass
        script = BIGRAM.encode() + b"\n# " + b"nowhere to keep it " * 10_000
        page, reply = desk.upload(script), by_api(site, script)
        if not ON_SERVERS:
            assert (reply.status_code, reply.json()["code"]) == (507, "disk_full")
            assert reply.json()["message"] == SENTENCE
            assert page.status_code == 507
            assert SENTENCE in text(page)
            assert "nowhere to keep it" in text(page)
            assert site.ask("select count(*) from submissions_submission where state = 'received'") == [(0,)]
        packed = desk.http.get(KIT)
        assert (packed.status_code, SENTENCE in text(packed)) == (507, True)
        assert "Log" in desk.submission(number)
        assert "Two seconds" in desk.read("/competitions/quick/phases/open/")
    assert end_of(site, number) == "ranked"
    events = site.api("GET", f"submissions/{number}/events").json()["events"]
    assert {event["kind"] for event in events} == {"state", "progress"}, "no run was lost or repeated"
    log, missing = log_of(site, number)
    if missing:  # where the end was taken in before there was room for the log
        assert f"the last {missing:,} bytes did not come here" in desk.submission(number)
    receipt = site.api("GET", f"submissions/{number}/receipts").json()["receipts"][0]["body"]
    assert len(log) + missing == receipt["log"]["bytes"]
    assert bool(missing) == ON_SERVERS
    assert desk.http.get(KIT).content.startswith(b"PK")
    assert end_of(site, by_api(site, BIGRAM.encode() + b"\n# room again\n").json()["id"]) == "ranked"


def test_a_host_without_room_is_ours_refunded_and_leaves_nothing(site: Site, desk: Desk, hosts_disk: SmallDisk) -> None:
    script = BIGRAM.encode() + b"\n# nowhere to train it\n"
    before = quota_used(site)
    with hosts_disk.full():
        number = desk.sent(script)
        assert end_of(site, number) == "errored"
    seen = site.api("GET", f"submissions/{number}").json()
    assert seen["reason"] == {
        "code": "host_full",
        "message": "3 attempts at run 1 ended on our side, the last one so: The host's disk was full. "
        "Your quota is refunded; send it again.",
    }
    assert quota_used(site) == before
    said = desk.submission(number)
    assert f"Errored (ours): {seen['reason']['message']}" in said
    assert said.count("The host's disk was full (ours). Your quota is untouched.") == 3
    for folder in ("runs", "jobs", "logs"):
        assert list((site.home / "agent" / folder).iterdir()) == []
    assert list((site.home / "agent" / "checkpoints").glob(".*")) == []
    assert end_of(site, desk.sent(script)) == "ranked"


def quota_used(site: Site) -> list[tuple[object, ...]]:
    """Return how many places are taken and not given back."""
    worth = "case kind when 'hold' then 1 when 'charge' then 0 else -1 end"
    return site.ask(f"select coalesce(sum({worth}), 0) from submissions_quotaentry")  # noqa: S608 our own words
