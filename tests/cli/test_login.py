"""A token comes to this machine for one server, is kept for it alone, and leaves it whole."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leaderboard.cli.api import Api
from leaderboard.cli.device import DeviceFlow
from leaderboard.cli.errors import BadAnswer, NotAuthenticated
from leaderboard.cli.settings import resolve, write_project_file
from tests.cli.conftest import SUBMIT, Ended, Prompt
from tests.cli.site import API, DROP, Answer, Site

START, TOKEN = f"{API}device/start", f"{API}device/token"
GIVEN = {"access_token": "hold_fresh", "token_type": "bearer", "scope": "submit", "name": "submit on x",
         "expires": "2027-01-05T10:00:00Z", "user": "ada"}  # fmt: skip
ME = {"user": "ada", "teams": [{"competition": "demo", "team": "Analysts"}],
      "token": {"name": "laptop", "scope": "all", "expires": "2027-01-05T10:00:00Z"}}  # fmt: skip


def begun(site: Site, **more: Any) -> Answer:
    url = f"{site.url}/device"
    return Answer({"device_code": "the-secret", "user_code": "BCDF-GHJK", "verification_url": url, "expires_in": 600,
                   "interval": 1, **more})  # fmt: skip


def no(code: str, **data: Any) -> Answer:
    return Answer({"code": code, "message": f"Said {code}.", **data}, 400)


def kept(prompt: Prompt) -> Path:
    return prompt.home / ".config/holdout/submit.toml"


def typed(prompt: Prompt, text: str, *words: str) -> Ended:
    done = subprocess.run(
        [SUBMIT, *words],
        cwd=prompt.folder,
        env=prompt.environ(),
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_login_shows_the_code_and_keeps_the_token_for_that_server(stranger: Prompt, site: Site) -> None:
    site.on("POST", "device/start", begun(site)).on(
        "POST", "device/token", no("authorization_pending"), DROP, Answer(GIVEN)
    )
    ended = stranger.submit("login", "--url", site.url)
    assert ended.code == 0
    assert f"Open {site.url}/device in a browser" in ended.out
    assert "    BCDF-GHJK\n" in ended.out
    assert "as ada; the token, for reading and submitting, is kept in" in ended.out
    assert "until 05 Jan 2027" in ended.out
    for secret in ("hold_fresh", "the-secret"):
        assert secret not in ended.out + ended.err
    assert stat.S_IMODE(kept(stranger).stat().st_mode) == 0o600
    assert stat.S_IMODE(kept(stranger).parent.stat().st_mode) == 0o700
    assert f'"{site.url}" = "hold_fresh"' in kept(stranger).read_text()
    assert {asked.token for asked in site.asked} == {None}
    site.on("GET", "me", Answer(ME))
    assert stranger.submit("whoami").code == 0, "the server is remembered too"
    assert site.asked[-1].token == "hold_fresh"


def test_the_answers_as_json_hold_no_secret(stranger: Prompt, site: Site) -> None:
    site.on("POST", "device/start", begun(site)).on("POST", "device/token", Answer(GIVEN))
    ended = stranger.submit("login", "--url", site.url, "--json")
    first, last = (json.loads(line) for line in ended.out.splitlines())
    assert first == {"event": "device", "user_code": "BCDF-GHJK", "url": f"{site.url}/device"}
    assert (last["event"], last["user"], last["origin"]) == ("logged_in", "ada", site.url)
    assert "hold_fresh" not in ended.out


def test_the_machines_name_and_scope_are_what_the_site_takes(stranger: Prompt, site: Site) -> None:
    site.on("POST", "device/start", no("bad_label"))
    assert stranger.submit("login", "--url", site.url, "--read-only").code == 2
    form = dict(pair.split("=") for pair in site.asked[0].body.decode().split("&"))
    assert form["scope"] == "read"
    assert 1 <= len(form["label"]) <= 40


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "invalid_grant"])
def test_a_login_that_is_refused_keeps_nothing(stranger: Prompt, site: Site, code: str) -> None:
    site.on("POST", "device/start", begun(site)).on("POST", "device/token", no(code))
    ended = stranger.submit("login", "--url", site.url, "--json")
    assert (ended.code, ended.last["code"]) == (3, code)
    assert not kept(stranger).exists()


def test_a_server_cannot_send_the_user_elsewhere_to_type_the_code(
    stranger: Prompt, site: Site, other_site: Site
) -> None:
    for url in (f"{other_site.url}/device", f"{site.url}@evil.example/device", "javascript:alert(1)"):
        site.on("POST", "device/start", begun(site, verification_url=url))
    for _ in range(3):
        ended = stranger.submit("login", "--url", site.url)
        assert ended.code == 7
        assert "another server" in ended.err
        assert "BCDF" not in ended.out
    assert other_site.asked == []
    assert not kept(stranger).exists()


def test_no_redirect_is_followed(stranger: Prompt, site: Site, other_site: Site) -> None:
    site.on("POST", "device/start", begun(site))
    site.on("POST", "device/token", Answer({}, 307, {"location": f"{other_site.url}{TOKEN}"}))
    assert stranger.submit("login", "--url", site.url).code == 7
    site.on("GET", "me", Answer({}, 302, {"location": f"{other_site.url}{API}me"}))
    assert typed(stranger, "hold_x\n", "login", "--token", "--url", site.url).code == 7
    assert other_site.asked == []
    assert not kept(stranger).exists()


class Hours:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.naps.append(seconds)
        self.now += seconds


def flow(stranger: Prompt, site: Site, *answers: Any, **start: Any) -> tuple[Hours, DeviceFlow, Api]:
    site.on("POST", "device/start", begun(site, **start)).on("POST", "device/token", *answers)
    settings = resolve({"url": site.url}, {}, {}, stranger.folder, stranger.home)
    clock, api = Hours(), Api(settings)
    return clock, DeviceFlow(api, settings.origin, clock), api


def test_it_asks_as_often_as_told_and_slower_when_told_so(stranger: Prompt, site: Site) -> None:
    pending = no("authorization_pending")
    clock, login, api = flow(
        stranger,
        site,
        pending,
        no("slow_down", interval=10),
        pending,
        no("slow_down"),
        pending,
        Answer(GIVEN),
        interval=5,
    )
    with api:
        login.start("x", "submit")
        assert login.wait(lambda _: None) == GIVEN
    assert clock.naps == [5, 5, 10, 10, 15, 15]


def test_it_stops_when_the_code_is_over_whatever_the_server_says(stranger: Prompt, site: Site) -> None:
    clock, login, api = flow(stranger, site, no("authorization_pending"), interval=5, expires_in=12)
    with api:
        login.start("x", "submit")
        with pytest.raises(NotAuthenticated, match="in time"):
            login.wait(lambda _: None)
    assert clock.now == 12


@pytest.mark.parametrize("bad", [{"device_code": 3}, {"interval": "5"}, {"expires_in": None}, {"user_code": None}])
def test_a_start_that_makes_no_sense_is_a_bad_answer(stranger: Prompt, site: Site, bad: dict[str, Any]) -> None:
    _, login, api = flow(stranger, site, **bad)
    with api, pytest.raises(BadAnswer):
        login.start("x", "submit")


def test_a_token_from_stdin_is_asked_about_and_kept(stranger: Prompt, site: Site) -> None:
    site.on("GET", "me", Answer(ME))
    ended = typed(stranger, " hold_made \n", "login", "--token", "--url", site.url)
    assert (ended.code, site.asked[0].token) == (0, "hold_made")
    assert '"hold_made"' in kept(stranger).read_text()
    assert "hold_made" not in ended.out + ended.err


@pytest.mark.parametrize("text", ["", "\n", "two words\n", "é\n", "\x00\n", "x" * 5000])
def test_what_is_no_token_is_not_sent(stranger: Prompt, site: Site, text: str) -> None:
    assert typed(stranger, text, "login", "--token", "--url", site.url).code in (2, 3)
    assert site.asked == []


def test_a_token_that_the_server_does_not_know_is_not_kept(stranger: Prompt, site: Site) -> None:
    site.on("GET", "me", Answer({"code": "not_authenticated", "message": "Not known."}, 401))
    assert typed(stranger, "hold_x\n", "login", "--token", "--url", site.url).code == 3
    assert not kept(stranger).exists()


def test_a_project_file_does_not_say_where_a_typed_token_goes(stranger: Prompt, other_site: Site) -> None:
    stranger.write(".submit.toml", f'url = "{other_site.url}"\n')
    ended = typed(stranger, "hold_mine\n", "login", "--token")
    assert ended.code == 2
    assert "--url" in ended.err
    assert other_site.asked == []


def test_logout_deletes_here_and_revokes_there(stranger: Prompt, site: Site, other_site: Site) -> None:
    site.on("GET", "me", Answer(ME)).on("POST", "me/token/revoke", {"revoked": True})
    other_site.on("GET", "me", Answer(ME))
    typed(stranger, "hold_other", "login", "--token", "--url", other_site.url)
    typed(stranger, "hold_made", "login", "--token", "--url", site.url)
    ended = stranger.submit("logout", "--url", site.url)
    assert ended.code == 0
    assert (site.asked[-1].path, site.asked[-1].token) == (f"{API}me/token/revoke", "hold_made")
    assert "hold_made" not in kept(stranger).read_text()
    assert "hold_other" in kept(stranger).read_text()
    again = stranger.submit("logout", "--url", site.url, "--json")
    assert (again.code, again.last["was_logged_in"]) == (0, False)
    assert len(other_site.asked) == 1


def test_a_logout_that_the_server_does_not_hear_says_what_is_left_to_do(stranger: Prompt, site: Site) -> None:
    site.on("GET", "me", Answer(ME)).on("POST", "me/token/revoke", Answer(b"", 502))
    typed(stranger, "hold_made", "login", "--token", "--url", site.url)
    ended = stranger.submit("logout", "--url", site.url)
    assert ended.code == 7
    assert "under Tokens" in ended.err
    assert "hold_made" not in kept(stranger).read_text()


def test_logging_out_with_a_token_of_no_more_use_is_well(stranger: Prompt, site: Site) -> None:
    gone = Answer({"code": "token_expired", "message": "Expired."}, 401)
    site.on("GET", "me", Answer(ME)).on("POST", "me/token/revoke", gone)
    typed(stranger, "hold_made", "login", "--token", "--url", site.url)
    assert stranger.submit("logout", "--url", site.url).code == 0


def test_whoami_says_person_token_and_teams(prompt: Prompt, site: Site) -> None:
    site.on("GET", "me", Answer(ME))
    assert prompt.submit("whoami").out.splitlines() == [
        f"ada at {site.url}",
        "token: laptop, for everything until 05 Jan 2027",
        "team in demo: Analysts",
    ]
    assert prompt.submit("whoami", "--json").last["event"] == "whoami"


def test_another_token_that_is_heard_first_is_told(prompt: Prompt, site: Site) -> None:
    site.on("GET", "me", Answer(ME)).on("POST", "me/token/revoke", {"revoked": True})
    ended = typed(prompt, "hold_made", "login", "--token")
    assert ended.code == 0
    assert "SUBMIT_TOKEN is heard before" in ended.err
    assert "still in use" in prompt.submit("logout").err


def test_a_token_that_was_just_kept_is_heard_before_a_projects_which_logging_out_leaves(
    stranger: Prompt, site: Site
) -> None:
    site.on("GET", "me", Answer(ME)).on("POST", "me/token/revoke", {"revoked": True})
    write_project_file(stranger.folder / ".submit.toml", site.url, "hold_project", "demo", "open")
    assert typed(stranger, "hold_made", "login", "--token", "--url", site.url).err == ""
    assert "from SUBMIT_TOKEN or a project's token file, is still in use" in stranger.submit("logout").err
    assert [asked.token for asked in site.asked] == ["hold_made", "hold_made"]
