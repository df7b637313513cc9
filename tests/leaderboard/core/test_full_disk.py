"""A site whose disk is full: one sentence for what is sent, pages to read, nothing half kept, and on it goes with room.

In the second round the full disk is PostgreSQL's.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from leaderboard.env import PROJECT
from tests.servers import ON_SERVERS
from tests.smalldisk import WHY_NOT, may_mount, small_database

SENTENCE = "The site's disk is full, so nothing was taken in; try again later."
OWN_MOUNTS = ("unshare", "--mount") if may_mount() else ("unshare", "--map-root-user", "--mount")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Use a site in a process of its own and return what came of it."""
    home = tmp_path_factory.mktemp("home")
    environ = os.environ | {"HOLDOUT_HOME": str(home), "HOLDOUT_BROKER_URL": "memory://"}
    with ExitStack() as stack:
        if ON_SERVERS:
            if not may_mount():
                pytest.skip(WHY_NOT)
            environ["HOLDOUT_DATABASE_URL"], disk = stack.enter_context(small_database("full"))
            yield use(environ, disk.folder)
        else:
            if subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode:
                pytest.skip("this host lets nobody have mounts of their own")
            yield use(environ, home, *OWN_MOUNTS)


def use(environ: dict[str, str], folder: Path, *before: str) -> dict[str, Any]:
    program = [*before, sys.executable, "-m", "tests.leaderboard.core.fulldisk", str(folder)]
    ended = subprocess.run(program, cwd=PROJECT, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_an_upload_by_the_api_gets_one_sentence(found: dict[str, Any]) -> None:
    assert found["full"]["api"] == [507, "disk_full", SENTENCE]


def test_an_upload_by_the_page_gets_it_above_everything_that_was_typed(found: dict[str, Any]) -> None:
    status, page = found["full"]["page"]
    assert (status, unescape(page).count(SENTENCE)) == (507, 1)
    assert 'value="my method"' in page
    assert "def load_for_eval" in page


def test_any_other_form_gets_a_page_that_says_it(found: dict[str, Any]) -> None:
    status, page = found["full"]["other"]
    assert (status, unescape(page).count(SENTENCE)) == (507, 1)
    assert "Traceback" not in page


def test_nothing_half_kept_stays(found: dict[str, Any]) -> None:
    assert found["full"]["kept"] == 0
    assert found["full"]["ledger"]


def test_pages_are_there_to_be_read(found: dict[str, Any]) -> None:
    assert found["full"]["board"] == 200
    assert found["reads"] == 200, "by a token, the use of which would be noted"
    assert found["kept_open"] == 200


@pytest.mark.skipif(ON_SERVERS, reason="a server keeps its own memory")
def test_without_a_connection_that_is_kept_open_not_even_that(found: dict[str, Any]) -> None:
    assert found["alone"] == 507


@pytest.mark.skipif(ON_SERVERS, reason="logs lie on the site's own disk")
def test_an_agents_log_waits(found: dict[str, Any]) -> None:
    assert found["log"] == [507, "disk_full", None]


def test_with_room_everything_is_taken_again(found: dict[str, Any]) -> None:
    assert found["room"]["api"][0] == 201
    assert found["room"]["page"][0] == 302
    assert found["room"]["other"][0] == 200
    assert (found["room"]["kept"], found["room"]["ledger"]) == (2, True)
    assert found["log_after"] == [200, None, 70_000]
