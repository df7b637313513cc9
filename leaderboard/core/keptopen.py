"""Keeps the site readable on a full disk.

Beside a SQLite database lies the memory in which its connections find their way through its log. It goes away with the
last of them, and whoever is the first again needs room for it, even to read. So the web process has one connection
that does nothing and is never closed.
"""

import logging
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

from leaderboard.env import env

log = logging.getLogger(__name__)
_kept: list[sqlite3.Connection] = []


def keep_open() -> None:
    """Open the database once for as long as this process lives; does nothing where it is a server, or not there yet."""
    parts = urlsplit(env().database)
    if parts.scheme != "sqlite":
        return
    path = "/" + parts.path.lstrip("/")  # two would begin a host's name
    try:
        connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, check_same_thread=False)
        with closing(connection.execute("SELECT 1 FROM sqlite_master")) as found:
            found.fetchone()
    except sqlite3.OperationalError as error:
        log.warning("the database is not kept open: %s", error)
    else:
        _kept.append(connection)
