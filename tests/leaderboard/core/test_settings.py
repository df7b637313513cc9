"""What `settings.py` makes of an address: all of it, or a refusal that names the variable."""

import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.env import PROJECT
from leaderboard.settings import _database


def test_options_of_a_database_address_reach_the_driver() -> None:
    made = _database("postgresql://ada:p%40ss@db:5433/board?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem")
    assert (made["USER"], made["PASSWORD"], made["HOST"], made["PORT"]) == ("ada", "p@ss", "db", "5433")
    assert made["OPTIONS"] == {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}


def test_a_socket_folder_is_a_host() -> None:
    assert _database("postgresql:///board?host=%2Frun%2Fpg")["HOST"] == "/run/pg"


@pytest.mark.parametrize("url", ["mysql://db/board", "postgresql://db/board?sslmode"])
def test_an_address_we_cannot_honour_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"mysql|sslmode"):
        _database(url)


@pytest.mark.parametrize(
    ("url", "shows"),
    [
        ("smtps://u:p@mail", "False True 465"),
        ("smtp+tls://u:p@mail", "True False 587"),
        ("smtp://mail:2525", "False False 2525"),
        ("http://mail", "HOLDOUT_EMAIL_URL"),
    ],
)
def test_mail_is_encrypted_where_the_address_says_so(tmp_path: Path, url: str, shows: str) -> None:
    code = "from leaderboard import settings as s; print(s.EMAIL_USE_TLS, s.EMAIL_USE_SSL, s.EMAIL_PORT)"
    environ = {"HOLDOUT_HOME": str(tmp_path), "HOLDOUT_EMAIL_URL": url}
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=environ, capture_output=True, text=True, check=False
    )
    assert shows in ended.stdout + ended.stderr
