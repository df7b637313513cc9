"""A whole platform in a temporary state folder: real processes, started the way `make run` starts them."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.servers import environ_of

ROOT = Path(__file__).resolve().parents[2]
SUBMIT = str(Path(sys.executable).parent / "submit")
sys.path.insert(0, str(ROOT / "deploy" / "demo"))
# A part of each program's command line that no other has.
SIGNS = {"valkey": "unixsocket", "web": "uvicorn", "worker": "site@", "beat": "beat", "agent": "agent@"}
COMPETITION = Path(__file__).parent / "competition.toml"


@dataclass
class Site:
    """The address of a running platform, and what one needs to act on it."""

    home: Path
    url: str
    token: str

    def submit(self, script: str, *options: str, name: str = "train.py") -> subprocess.CompletedProcess[str]:
        """Send a script with the real CLI and wait for its end."""
        folder = self.home / "desk"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(script)
        return self.cli(name, "--json", *options, cwd=folder)

    def cli(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `submit` as a competitor would, with the address and token in the environment."""
        where = {"SUBMIT_URL": self.url, "SUBMIT_TOKEN": self.token}
        what = {"SUBMIT_COMPETITION": "quick", "SUBMIT_PHASE": "open"}
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home)} | where | what
        return subprocess.run(
            [SUBMIT, *words],
            cwd=cwd or self.home,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def api(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Call the public API as the competitor."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.request(method, f"{self.url}/api/v1/{path}", headers=headers, timeout=30, **more)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Read the platform's database, whichever it is."""
        address = environ_of(self.home).get("HOLDOUT_DATABASE_URL")
        if address is None:
            with closing(sqlite3.connect(f"file:{self.home / 'db.sqlite3'}?mode=ro", uri=True)) as file:
                return file.execute(query).fetchall()
        with psycopg.connect(address) as server:
            return server.execute(query.encode()).fetchall()

    def supervisor(self) -> int:
        """Return the process id of supervisord."""
        return int((self.home / "run" / "supervisord.pid").read_text())

    def pid(self, program: str) -> int:
        """Return the process id of one of the platform's programs, from the kernel; waits for one that restarts."""
        supervisor = self.supervisor()
        while True:
            for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
                with suppress(OSError):  # it ended meanwhile
                    if SIGNS[program] in Path(f"/proc/{child}/cmdline").read_text():
                        return int(child)

    def kill(self, program: str) -> None:
        """kill -9 a program; supervisord starts it again."""
        os.kill(self.pid(program), signal.SIGKILL)

    def broker_socket(self) -> str:
        """Return where the broker listens; below a deep folder it is elsewhere."""
        found = re.search(r"--unixsocket (\S+)", (self.home / "run" / "supervisord.conf").read_text())
        assert found
        return found[1]


def last_event(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the last JSON line the CLI printed."""
    event: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return event


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def manage(home: Path, *words: str, url: str = "http://127.0.0.1:8000", stdin: str = "") -> str:
    """Run a platform command on a state folder; return what it printed."""
    environ = os.environ | {"HOLDOUT_HOME": str(home), "HOLDOUT_PUBLIC_URL": url} | environ_of(home)
    ended = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
