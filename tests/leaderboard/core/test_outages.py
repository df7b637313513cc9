"""What is an outage, and what is a fault of ours that must stay one."""

import errno
import shutil
import sqlite3
from pathlib import Path

import psycopg
import pytest
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError

from leaderboard.core.errors import Refusal
from leaderboard.core.outages import refusal_of, refused


def chained(outer: Exception, cause: BaseException) -> Exception:
    outer.__cause__ = cause
    return outer


def of_sqlite(code: int) -> Exception:
    error = sqlite3.OperationalError("as the driver says it")
    error.sqlite_errorcode = code
    return chained(OperationalError("as the driver says it"), error)


def of_postgresql(state: str, kind: type[Exception] = OperationalError) -> Exception:
    return chained(kind("x"), psycopg.errors.lookup(state)("x"))


OUTAGES = {
    "no space": (OSError(errno.ENOSPC, "x"), "disk_full", 507),
    "no quota": (OSError(errno.EDQUOT, "x"), "disk_full", 507),
    "many copies": (shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]), "disk_full", 507),
    "behind another": (chained(ValueError("x"), OSError(errno.ENOSPC, "x")), "disk_full", 507),
    "SQLite": (of_sqlite(sqlite3.SQLITE_FULL), "disk_full", 507),
    "SQLite's memory": (of_sqlite(sqlite3.SQLITE_IOERR_SHMSIZE), "disk_full", 507),
    "PostgreSQL": (of_postgresql("53100"), "disk_full", 507),
    "PostgreSQL shuts down": (of_postgresql("57P01"), "database_away", 503),
    "PostgreSQL starts": (of_postgresql("57P03"), "database_away", 503),
    "PostgreSQL breaks off": (of_postgresql("08006"), "database_away", 503),
    "PostgreSQL has no place": (of_postgresql("53300"), "database_away", 503),
    "hung up": (chained(InterfaceError("x"), psycopg.InterfaceError("the connection is closed")), "database_away", 503),
}
FAULTS = {
    "a missing file": OSError(errno.ENOENT, "x"),
    "SQLite, no table": of_sqlite(sqlite3.SQLITE_ERROR),
    "SQLite, locked": of_sqlite(sqlite3.SQLITE_BUSY),
    "SQLite, broken disk": of_sqlite(sqlite3.SQLITE_IOERR_READ),
    "PostgreSQL, no table": of_postgresql("42P01", ProgrammingError),
    "PostgreSQL, deadlock": of_postgresql("40P01"),
    "no driver": DatabaseError("x"),
    "ours": KeyError("x"),
}


@pytest.mark.parametrize("name", OUTAGES)
def test_an_outage_is_one_sentence_with_a_status_of_its_own(name: str) -> None:
    error, code, status = OUTAGES[name]
    refusal = refusal_of(error)
    assert refusal is not None
    assert (refusal.code, refusal.status) == (code, status)


@pytest.mark.parametrize("name", FAULTS)
def test_every_other_fault_stays_one(name: str) -> None:
    assert refusal_of(FAULTS[name]) is None
    with pytest.raises(type(FAULTS[name])), refused():
        raise FAULTS[name]


def test_a_refusal_goes_through_as_it_is() -> None:
    with pytest.raises(Refusal, match="as I said"), refused():
        raise Refusal("x", "as I said")


def test_a_server_that_is_not_there_is_away(tmp_path: Path) -> None:
    with pytest.raises(psycopg.OperationalError) as nobody:
        psycopg.connect(f"host={tmp_path}")
    refusal = refusal_of(chained(OperationalError("x"), nobody.value))
    assert refusal is not None
    assert refusal.code == "database_away"
