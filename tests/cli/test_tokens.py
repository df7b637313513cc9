"""A token belongs to one origin and is never sent to another."""

import pytest

from leaderboard.cli.settings import write_project_file
from tests.cli.conftest import Prompt
from tests.cli.site import API, Answer, Site, submission

TOKENS = '[tokens]\n"{}" = "stored-token"\n'
PHASE = 'competition = "demo"\nphase = "open"\n'


def user_file(prompt: Prompt, text: str, mode: int = 0o600) -> None:
    path = prompt.home / ".config/holdout/submit.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(mode)


def test_the_token_of_the_environment_goes_to_the_url_of_the_environment(prompt: Prompt, site: Site) -> None:
    site.life()
    assert prompt.submit("train.py", "--no-wait").code == 0
    assert [asked.token for asked in site.asked] == ["good-token"]


def test_a_redirect_gets_no_token(prompt: Prompt, site: Site, other_site: Site) -> None:
    other_site.life()
    for status in (301, 302, 307, 308):
        site.on("POST", "submissions", Answer({}, status, {"location": f"{other_site.url}{API}submissions"}))
    for _ in range(4):
        ended = prompt.submit("train.py", "--no-wait")
        assert ended.code == 7
        assert other_site.url in ended.err
    assert other_site.asked == []


@pytest.mark.parametrize("pair", ["url={}", "token=stolen", "token_file=/etc/passwd", "competition=demo url={}"])
def test_a_script_cannot_name_a_server(prompt: Prompt, site: Site, other_site: Site, pair: str) -> None:
    prompt.write("train.py", f"print(1)\n#: submit {pair.format(other_site.url)}\n")
    ended = prompt.submit("train.py")
    assert ended.code == 2
    assert ended.err.startswith("submit: train.py:2: a script must not set `")
    assert site.asked == other_site.asked == []


def test_a_project_file_cannot_draw_the_token_of_the_environment(stranger: Prompt, other_site: Site) -> None:
    stranger.write(".submit.toml", f'url = "{other_site.url}"\n{PHASE}')
    stranger.env = {"SUBMIT_TOKEN": "good-token"}
    ended = stranger.submit("train.py")
    assert ended.code == 3
    assert "SUBMIT_TOKEN is set without SUBMIT_URL" in ended.err
    assert other_site.asked == []


def test_a_project_file_cannot_draw_a_stored_token(stranger: Prompt, site: Site, other_site: Site) -> None:
    user_file(stranger, TOKENS.format(site.url))
    stranger.write(".submit.toml", f'url = "{other_site.url}"\ntoken_file = "~/.config/holdout/submit.toml"\n{PHASE}')
    ended = stranger.submit("train.py")
    assert ended.code == 3
    assert site.url in ended.err
    assert "stored-token" not in ended.err + ended.out
    assert site.asked == other_site.asked == []


def test_a_flag_to_another_server_leaves_the_token_behind(prompt: Prompt, site: Site, other_site: Site) -> None:
    assert prompt.submit("train.py", "--url", other_site.url).code == 3
    assert site.asked == other_site.asked == []


def test_localhost_is_not_127_0_0_1(prompt: Prompt, site: Site) -> None:
    assert prompt.submit("train.py", "--url", f"http://localhost:{site.port}").code == 3
    assert site.asked == []


def test_a_board_is_read_without_the_token_of_another_server(prompt: Prompt, other_site: Site) -> None:
    other_site.on("GET", "competitions/demo/phases/open/standings", {"rows": []})
    assert prompt.submit("standings", "--url", other_site.url).code == 0
    assert [asked.token for asked in other_site.asked] == [None]


@pytest.mark.parametrize("name", [".submit.toml", "var/submit.toml"])
@pytest.mark.parametrize("by_environment", [True, False])
def test_a_written_project_file_is_enough(stranger: Prompt, site: Site, name: str, by_environment: bool) -> None:
    site.life()
    path = stranger.folder / name
    secret = write_project_file(path, site.url, "stored-token", "demo", "open")
    assert {file.stat().st_mode & 0o777 for file in (path, secret)} == {0o600}
    stranger.env = {"SUBMIT_URL": f"{site.url}/"} if by_environment else {}
    deeper = stranger.folder / "deploy/scripts"
    deeper.mkdir(parents=True)
    stranger.folder = deeper
    site.on("GET", "me", {"user": "ada"})
    sent = stranger.submit("../../train.py", "--no-wait")
    assert sent.code == 0
    assert sent.err == f"submit: acting as ada, by the token of ../../{name}.\n"
    assert [asked.token for asked in site.asked] == ["stored-token"] * 2
    assert site.asked[1].fields()["phase"] == b"open"


@pytest.fixture
def lent(stranger: Prompt, site: Site) -> Prompt:
    """A competitor in a folder whose project file brings somebody's token along."""
    site.life()
    site.on("GET", "me", {"user": "carl"})
    write_project_file(stranger.folder / "var/submit.toml", site.url, "carls-token", "demo", "open")
    return stranger


def test_an_own_token_goes_before_the_one_that_a_project_file_brings_along(lent: Prompt, site: Site) -> None:
    user_file(lent, TOKENS.format(site.url))
    sent = lent.submit("train.py", "--no-wait")
    assert (sent.code, sent.err) == (0, "")
    lent.env = {"SUBMIT_URL": site.url, "SUBMIT_TOKEN": "good-token"}
    assert lent.submit("train.py", "--no-wait").err == ""
    assert [asked.token for asked in site.asked] == ["stored-token", "good-token"]


@pytest.mark.parametrize(
    "words", [("train.py", "--no-wait"), ("train.py", "--no-wait", "--json"), ("withdraw", "17", "--yes")]
)
def test_whoever_acts_by_a_projects_token_is_told_whose_it_is(lent: Prompt, site: Site, words: tuple[str, ...]) -> None:
    site.on("POST", "submissions/17/withdraw", submission("withdrawn"))
    done = lent.submit(*words)
    assert (done.code, done.err) == (0, "submit: acting as carl, by the token of var/submit.toml.\n")
    assert site.asked[0].path == f"{API}me"
    assert {asked.token for asked in site.asked} == {"carls-token"}


def test_nothing_is_sent_when_it_cannot_be_said_whose_account_it_is(lent: Prompt, site: Site, other_site: Site) -> None:
    write_project_file(lent.folder / "var/submit.toml", other_site.url, "carls-token", "demo", "open")
    other_site.life()
    other_site.on("GET", "me", Answer({"code": "not_authenticated", "message": "Not known."}, 401))
    assert lent.submit("train.py", "--no-wait").code == 3
    assert [asked.method for asked in other_site.asked] == ["GET"]


def test_the_users_file_keeps_a_token_for_each_server(stranger: Prompt, site: Site, other_site: Site) -> None:
    site.life()
    user_file(stranger, f'[tokens]\n"{other_site.url}" = "wrong"\n"{site.url}" = "stored-token"\n')
    stranger.env = {"SUBMIT_URL": site.url, "SUBMIT_COMPETITION": "demo", "SUBMIT_PHASE": "open"}
    assert stranger.submit("train.py", "--no-wait").code == 0
    assert site.asked[0].token == "stored-token"


def test_a_token_file_that_others_can_open_is_refused(stranger: Prompt, site: Site) -> None:
    user_file(stranger, TOKENS.format(site.url), 0o644)
    stranger.env = {"SUBMIT_URL": site.url}
    ended = stranger.submit("train.py")
    assert ended.code == 3
    assert "chmod 600" in ended.err


def test_a_project_file_holds_no_token(stranger: Prompt, site: Site) -> None:
    stranger.write(".submit.toml", f'url = "{site.url}"\ntoken = "loose"\n')
    ended = stranger.submit("train.py")
    assert ended.code == 2
    assert "token_file" in ended.err
    assert "loose" not in ended.err


def test_a_broken_token_file_is_not_quoted(stranger: Prompt, site: Site) -> None:
    user_file(stranger, "[tokens]\nsecret-value")
    stranger.env = {"SUBMIT_URL": site.url}
    ended = stranger.submit("train.py")
    assert ended.code == 2
    assert "secret-value" not in ended.err


@pytest.mark.parametrize("token", ["two words", "päss", "line\nbreak"])
def test_an_impossible_token_is_refused_before_anything_is_sent(prompt: Prompt, site: Site, token: str) -> None:
    prompt.env["SUBMIT_TOKEN"] = token
    assert prompt.submit("train.py").code == 3
    assert site.asked == []


@pytest.mark.parametrize(
    "url", ["ftp://host", "host:8000", "http://", "http://me:secret@host", "http://host:99999", "http://host/?a=1", "x"]
)
def test_an_impossible_address_is_refused(prompt: Prompt, url: str) -> None:
    prompt.env["SUBMIT_URL"] = url
    assert prompt.submit("train.py").code == 2


def test_a_proxy_does_not_see_what_is_meant_for_this_machine(prompt: Prompt, site: Site, other_site: Site) -> None:
    site.life()
    prompt.env |= {"HTTP_PROXY": other_site.url, "http_proxy": other_site.url, "ALL_PROXY": other_site.url}
    assert prompt.submit("train.py", "--no-wait").code == 0
    assert other_site.asked == []
