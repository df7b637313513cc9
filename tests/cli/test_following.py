"""The wait is patient with connections and exact about time."""

import pytest

from leaderboard.cli.api import Api
from leaderboard.cli.errors import Unreachable, WaitedOut
from leaderboard.cli.follow import Follower
from leaderboard.cli.settings import resolve
from leaderboard.cli.show import Lines, Pace
from leaderboard.cli.waiting import GIVE_UP_SECONDS
from tests.cli.conftest import Prompt
from tests.cli.site import API, DROP, RANKED, Answer, Site, running, submission


def test_dropped_connections_and_failing_servers_are_waited_out_and_said_once(prompt: Prompt, site: Site) -> None:
    site.life(submission("queued"), DROP, Answer(b"<h1>Bad gateway</h1>", 502), running(5), RANKED)
    ended = prompt.submit("train.py")
    assert ended.code == 0
    notes = ended.err.splitlines()
    assert len(notes) == 2
    assert "Asking again; what you wait for goes on" in notes[0]
    assert "answers again" in notes[1]


def test_a_wait_that_is_over_says_how_to_look_again(prompt: Prompt, site: Site) -> None:
    site.life(running(5))
    ended = prompt.submit("train.py", "--timeout", "0.3", "--json")
    assert ended.code == 8
    assert (ended.last["event"], ended.last["submission"], ended.last["state"]) == ("timeout", 17, "running")
    assert "`submit attach 17`" in ended.err


def test_a_server_that_is_down_does_not_stretch_the_wait(prompt: Prompt, site: Site) -> None:
    site.life(Answer(b"", 503))
    assert prompt.submit("train.py", "--timeout", "0.3").code == 8


def test_a_token_that_expires_meanwhile_ends_the_wait(prompt: Prompt, site: Site) -> None:
    expired = Answer({"code": "token_expired", "message": "Your token has expired; make a new one."}, 401)
    site.life(submission("queued"), expired)
    assert prompt.submit("train.py").code == 3


def test_every_event_is_seen_once_and_asked_for_once(prompt: Prompt, site: Site) -> None:
    site.life(submission("auditing"), submission("queued"), submission("queued"), RANKED)
    out = prompt.submit("train.py").out
    assert [line for line in out.splitlines() if ": Now " in line] == [
        "◔ auditing: Now auditing.",
        "⋯ queued: Now queued.",
    ], "the end is told once, by the outcome"
    assert sum("ranked" in line for line in out.splitlines()) == 1


def test_a_run_is_starting_up_until_its_clock_runs(prompt: Prompt, site: Site) -> None:
    early = running(1)
    early["runs"][0] |= {"charged_seconds": 3.2, "startup_seconds": 3.2}
    site.life(early, RANKED)
    out = prompt.submit("train.py").out
    assert "starting up, 3 s" in out
    assert "charged" not in out


def test_progress_events_are_no_lines_of_their_own(prompt: Prompt, site: Site) -> None:
    site.life(running(5), running(9), RANKED, kind="progress")
    assert ": Now " not in prompt.submit("train.py").out


class Hours:
    """A clock that stands still but for naps; each takes `nap` times as long as was asked."""

    def __init__(self, nap: float = 60.0) -> None:
        self.now, self._nap = 0.0, nap
        self.naps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.naps.append(seconds)
        self.now += seconds * self._nap


def test_a_server_that_stays_away_is_given_up(stranger: Prompt, site: Site) -> None:
    site.on("GET", "submissions/17", DROP)
    clock = Hours(nap=10.0)
    with Api(resolve({"url": site.url}, {}, {}, stranger.folder, stranger.home)) as api, pytest.raises(Unreachable):
        Follower(api, Lines("train.py"), 17, timeout=None, clock=clock).run()
    assert clock.now > GIVE_UP_SECONDS
    assert clock.naps == sorted(clock.naps)
    assert max(clock.naps) == 10


def test_no_nap_goes_beyond_the_end_of_the_wait(stranger: Prompt, site: Site) -> None:
    site.life(running(5))
    clock = Hours(nap=1.0)
    with Api(resolve({"url": site.url}, {}, {}, stranger.folder, stranger.home)) as api, pytest.raises(WaitedOut):
        Follower(api, Lines("train.py"), 17, timeout=0.7, clock=clock).run()
    assert clock.now == pytest.approx(0.7)


def test_the_pace_slows_down_to_two_seconds_and_wakes_up_with_an_event(stranger: Prompt, site: Site) -> None:
    site.life(*[submission("queued")] * 9, submission("running"), RANKED)
    clock = Hours()
    with Api(resolve({"url": site.url}, {}, {}, stranger.folder, stranger.home)) as api:
        Follower(api, Lines("train.py"), 17, timeout=None, clock=clock).run()
    assert clock.naps[0] == 0.5
    assert clock.naps[8] == 2.0
    assert clock.naps[9] == 0.5
    assert sum(asked.path == f"{API}submissions/17" for asked in site.asked) == 11


def test_progress_comes_at_most_every_five_seconds() -> None:
    times = iter([0.0, 1.0, 4.9, 5.0, 11.0])
    pace = Pace(lambda: next(times))
    assert [pace.lets(text) for text in ("1", "2", "3", "4", "4")] == [True, False, False, True, False]
