"""An agent and a platform that cannot answer: what counts waits until it is back, and nothing else is held up."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from leaderboard.agent import execute
from leaderboard.agent.execute import Host, execute_attempt
from leaderboard.agent.platform import Platform, Refused, Unreachable

OFFER = {"capability": "c", "heartbeat_seconds": 0.1, "job": {"shards": {"set": "tiny"}, "kit_sha256": "k"}}


@dataclass
class Away:
    """A platform that answers what its script says, and the last of it for ever."""

    statuses: dict[str, list[int]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    url: str = ""

    def answer(self, what: str, body: bytes) -> tuple[int, dict[str, Any]]:
        self.asked.append((what, body))
        left = self.statuses.get(what, [200])
        status = left.pop(0) if len(left) > 1 else left[0]
        size = {"size": int(what == "log") * len(body)}
        return status, {**OFFER, "cancel": False, **size}

    def count(self, what: str) -> int:
        return sum(name == what for name, _ in self.asked)


@pytest.fixture
def away() -> Iterator[Away]:
    site = Away()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = site.answer(self.path.split("?")[0].rsplit("/", 1)[1], body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def claimed(away: Away) -> Iterator[Callable[..., Platform]]:
    """Claim attempt 7 with so many seconds of patience."""
    opened: list[Platform] = []

    def claimed(patience: float, outage: float) -> Platform:
        opened.append(Platform(away.url, "key", patience, outage))
        assert opened[-1].claim(7)
        return opened[-1]

    yield claimed
    for platform in opened:
        platform.__exit__(None, None, None)


@pytest.mark.parametrize("status", [429, 502, 503, 504, 507])
def test_an_end_outlasts_an_outage_however_little_patience_there_is(
    away: Away, claimed: Callable[..., Platform], status: int
) -> None:
    away.statuses["finish"] = [status, status, 200]
    claimed(patience=0, outage=60).finish({"fault": "x"})
    assert away.count("finish") == 3


def test_a_platform_that_chokes_on_one_end_does_not_keep_the_host(away: Away, claimed: Callable[..., Platform]) -> None:
    away.statuses["finish"] = [500]
    with pytest.raises(Unreachable):
        claimed(patience=0, outage=60).finish({"fault": "x"})
    assert away.count("finish") == 1


def test_patience_begins_when_the_outage_is_over(away: Away, claimed: Callable[..., Platform]) -> None:
    away.statuses["finish"] = [507, 500, 200]
    claimed(patience=2, outage=60).finish({"fault": "x"})
    assert away.count("finish") == 3


def test_an_outage_of_a_day_is_one_too_many(away: Away, claimed: Callable[..., Platform]) -> None:
    away.statuses["finish"] = [507]
    with pytest.raises(Unreachable):
        claimed(patience=0, outage=0.5).finish({"fault": "x"})


def test_a_claim_waits_for_no_outage(away: Away) -> None:
    away.statuses["claim"] = [507]
    with Platform(away.url, "key", patience=0) as platform:
        assert platform.claim(7) is None


def test_the_rest_of_the_log_goes_before_each_try_of_the_end(
    away: Away, claimed: Callable[..., Platform], tmp_path: Path
) -> None:
    away.statuses |= {"finish": [507, 200], "log": [507, 507, 200]}
    log = tmp_path / "log"
    log.write_bytes(b"the last words")
    execute._hand_in(claimed(patience=0, outage=60), {"fault": "x"}, log, 0)
    assert [what for what, _ in away.asked[1:]] == ["log", "finish", "log", "finish"]


def test_while_the_log_finds_no_room_the_agent_goes_on_showing_life(
    away: Away, claimed: Callable[..., Platform], tmp_path: Path
) -> None:
    away.statuses["log"] = [507, 200]
    log = tmp_path / "log"
    log.write_bytes(b"the last words")
    assert execute._deliver_rest(claimed(patience=0, outage=60), log, 0) == len(b"the last words")
    assert [what for what, _ in away.asked[1:]][:4] == ["events", "log", "events", "log"]


def test_an_end_that_is_refused_is_not_tried_again(away: Away, claimed: Callable[..., Platform]) -> None:
    away.statuses["finish"] = [410]
    with pytest.raises(Refused):
        claimed(patience=60, outage=60).finish({"fault": "x"})


def test_what_waits_through_a_long_outage_stays_few_with_the_startup_and_the_newest() -> None:
    waiting: list[dict[str, Any]] = [{"event": "startup", "seconds": 1.0}]
    for step in range(6000):
        waiting = execute._newest([*waiting, {"event": "step", "step": step}])
    assert len(waiting) == execute.UNSENT_KEPT + 1
    assert (waiting[0]["event"], waiting[-1]["step"]) == ("startup", 5999)


def test_what_this_hosts_disk_does_not_take_is_handed_in_at_once(away: Away, tmp_path: Path) -> None:
    host = Host.below(tmp_path)
    host.folder.mkdir()
    (host.folder / "jobs").write_text("no folder")
    with Platform(away.url, "key") as platform:
        execute_attempt(platform, host, 7)
    what, body = away.asked[-1]
    assert what == "finish"
    assert "Not a directory" in json.loads(body)["fault"]
    assert "cause" not in json.loads(body)
