"""What the site cannot help, seen in an exception of whatever library: a full disk, a database that is away.

    disk full      OSError ENOSPC, EDQUOT · SQLite FULL, and IOERR_SHMSIZE of the memory beside its log
                   PostgreSQL 53100, disk_full
    database away  PostgreSQL without a connection: class 08, 57P (shut down, crashed, starting), 53300, or no code.
                   A server whose log finds no room stops so.

Either was rolled back as a whole, so the person's answer is one sentence and a time to come back.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from leaderboard.core.errors import Refusal
from scoring.room import is_full

_SQLITE_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
_DISK_FULL, _AWAY = "53100", ("08", "57P", "53300")


def refusal_of(error: BaseException | None) -> Refusal | None:
    """Return what to tell of a fault that is an outage; None for every other."""
    while error is not None:
        if _is_full(error):
            return Refusal("disk_full", "The site's disk is full, so nothing was taken in; try again later.", 507)
        if _is_away(error):
            return Refusal("database_away", "The site's database does not answer; try again later.", 503)
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def refused() -> Iterator[None]:
    """Raise an outage as the Refusal that says so."""
    try:
        yield
    except Refusal:
        raise
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return is_full(error)
    code = getattr(error, "sqlite_errorcode", None)  # of the driver's exceptions, below Django's
    return code in _SQLITE_FULL or getattr(error, "sqlstate", None) == _DISK_FULL


def _is_away(error: BaseException) -> bool:
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", "")  # None: it never came to a connection; other drivers have none
    return state is None or (state != "" and state.startswith(_AWAY))
