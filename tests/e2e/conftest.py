"""One platform for all end-to-end tests."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.desk import Desk, join
from tests.e2e.running import platform
from tests.e2e.scripts import BIGRAM
from tests.e2e.site import Site, last_event
from tests.smalldisk import may_mount, small_disk
from tests.state import home as state


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The platform; where one may mount, with one disk for its state and one for the agent's folder in it."""
    home = Path(state) / "site"
    with ExitStack() as stack:
        for folder in (home, home / "agent") if may_mount() else ():
            folder.mkdir(mode=0o700)
            stack.enter_context(small_disk(folder))
        yield stack.enter_context(platform(home))


@pytest.fixture(scope="session")
def desk(site: Site) -> Iterator[Desk]:
    """The competitor's team at a browser."""
    join(site, "quick")
    with Desk.at(site.url) as desk:
        yield desk


@pytest.fixture(scope="session")
def ranked(site: Site) -> int:
    """The number of a script that the CLI has sent, and that is on the board."""
    event = last_event(site.submit(BIGRAM, "--note", "counts of pairs"))
    assert event["event"] == "ranked", event
    return int(event["submission"])
