"""The whole login against the live site: the real command asks, a person confirms on the page, two ask at once."""

import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from django.test import Client

from leaderboard.accounts.models import ApiToken, DeviceLogin
from leaderboard.api import device as room
from leaderboard.env import env
from tests.leaderboard.cast import make_user

pytestmark = pytest.mark.django_db(transaction=True)
SUBMIT = Path(sys.executable).with_name("submit")


@pytest.fixture
def url(live_server, monkeypatch):
    """The site's address, which it also believes to be its own."""
    monkeypatch.setattr(room, "env", lambda: env().model_copy(update={"public_url": live_server.url}))
    return live_server.url


@pytest.fixture
def home(tmp_path):
    return tmp_path


def command(home, *words):
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    return subprocess.Popen([SUBMIT, *words], cwd=home, env=environ, stdout=-1, stderr=-1, text=True)


def answer(code, user, said="confirm"):
    browser = Client()
    browser.force_login(user)
    page = browser.post("/device", {"code": code}).content.decode()
    seal = re.search(r'name="seal" value="([^"]+)"', page)[1]
    assert browser.post("/device/answer", {"seal": seal, "answer": said}).status_code == 302
    return page


def start(url, label="laptop"):
    return httpx.post(f"{url}/api/v1/device/start", data={"label": label}).json()


def ask(url, device_code):
    return httpx.post(f"{url}/api/v1/device/token", data={"device_code": device_code})


@pytest.mark.parametrize(("said", "exit_code"), [("confirm", 0), ("refuse", 3)])
def test_a_login_from_the_command_to_the_page_and_back(url, home, said, exit_code):
    ada = make_user("ada")
    with command(home, "login", "--url", url) as process:
        shown = ""
        while not (code := re.search(r"[B-Z]{4}-[B-Z]{4}", shown)):
            shown += process.stdout.readline()
        page = answer(code[0], ada, said)
        out, err = process.communicate(timeout=60)
    assert process.returncode == exit_code, err
    assert "send scripts as you" in page
    assert ApiToken.objects.count() == (1 if said == "confirm" else 0)
    config = home / ".config/holdout/submit.toml"
    assert config.exists() == (said == "confirm")
    if said == "refuse":
        return
    (token,) = tomllib.loads(config.read_text())["tokens"].values()
    assert token not in shown + out + err
    with command(home, "whoami") as process:
        assert process.communicate(timeout=60)[0].startswith(f"ada at {url}\n")
    with command(home, "logout") as process:
        assert process.wait(timeout=60) == 0
    assert not ApiToken.objects.exists()


def test_a_login_names_this_sites_page_and_all_errors_have_one_shape(url):
    begun = start(url)
    assert begun["verification_url"] == f"{url}/device"
    assert set(begun) == {"device_code", "user_code", "verification_url", "expires_in", "interval"}
    pending, soon = ask(url, begun["device_code"]), ask(url, begun["device_code"])
    assert (pending.status_code, pending.json()["code"]) == (400, "authorization_pending")
    assert (soon.json()["code"], soon.json()["interval"]) == ("slow_down", 10)
    for data in ({}, {"label": "x" * 41}, {"label": "x", "scope": "all"}):
        refused = httpx.post(f"{url}/api/v1/device/start", data=data)
        assert refused.status_code == 400
        assert set(refused.json()) >= {"code", "message"}


def test_of_two_that_ask_at_once_one_gets_the_token(url):
    ada = make_user("ada")
    for number in range(1, 6):
        begun, together = start(url), Barrier(2)
        answer(begun["user_code"], ada)

        def poll(_, code=begun["device_code"], together=together):
            together.wait()
            return ask(url, code)

        with ThreadPoolExecutor(2) as pool:
            got, missed = sorted(pool.map(poll, range(2)), key=lambda response: response.status_code)
        assert (got.status_code, missed.status_code) == (200, 400)
        assert missed.json()["code"] == "invalid_grant"
        assert ApiToken.objects.count() == number
    assert set(DeviceLogin.objects.values_list("state", flat=True)) == {"used"}
