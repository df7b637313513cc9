"""A running site and Debian's Chromium; every page that a test opens is listened to until the test is over."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visitor import Visitor
from tests.e2e.running import platform
from tests.e2e.site import Site, manage
from tests.state import home as state

MAKE_ORGANIZER = """
from leaderboard.accounts.models import User
User.objects.create_user("olga", "olga@example.org", "a long enough password", is_staff=True)
"""


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with platform(Path(state) / "seen") as running:
        manage(running.home, "shell", "--no-imports", "--command", MAKE_ORGANIZER, url=running.url)
        yield running


@pytest.fixture(scope="module")  # no longer: while it lives, Django takes this thread for an asynchronous one
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path, "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visitor(site: Site, chromium: Browser) -> Iterator[Visitor]:
    """Somebody with a browser of their own, who complains at the end of whatever the console had to say."""
    with Visitor.at(site.url, chromium) as someone:
        yield someone
    assert someone.complaints == []


@pytest.fixture
def olga(site: Site, chromium: Browser) -> Iterator[Visitor]:
    """The organizer, logged in."""
    with Visitor.at(site.url, chromium) as organizer:
        organizer.log_in("olga")
        yield organizer
    assert organizer.complaints == []
