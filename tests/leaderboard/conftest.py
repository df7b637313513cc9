"""The platform's tests have its real broker: Valkey or Redis on the socket where the settings look for it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings
from kombu import pools
from valkey import Valkey
from valkey.exceptions import ConnectionError as NotYet

import reviewer
from leaderboard.celery import app
from reviewer import warm
from tests.servers import broker_binary


@pytest.fixture(scope="session", autouse=True)
def broker() -> Iterator[Path]:
    """Start a throwaway broker for the session."""
    path = Path(settings.HOME) / "run" / "valkey.sock"
    path.parent.mkdir(parents=True, exist_ok=True)
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)  # the static files' server warns where it is missing
    words = [
        broker_binary(),
        "--port",
        "0",
        "--unixsocket",
        path,
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        path.parent,
    ]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
        try:
            while True:
                with suppress(NotYet), Valkey(unix_socket_path=str(path)) as client:
                    client.ping()
                    break
                assert server.poll() is None, "the broker did not start"
            yield path
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def nursery() -> Iterator[None]:
    """Keep what audits need imported, for those who ask for it: others try what a process of its own does."""
    reviewer.keep_ready()
    warm._owner = 0
    yield
    warm._owner = os.getpid()
    warm._dismiss()
    warm._owner = 0


@pytest.fixture(autouse=True)
def audits_are_quick(nursery: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what audits need imported once and not for each of them, as the platform's worker has."""
    monkeypatch.setattr(warm, "_owner", os.getpid())


@pytest.fixture(autouse=True)
def empty_queues(broker: Path) -> Iterator[None]:
    """Leave no message of one test to the next."""
    yield
    with Valkey(unix_socket_path=str(broker)) as client:
        client.flushall()


@contextmanager
def down(broker: Path) -> Iterator[None]:
    """Let the broker's socket be gone for a while, and every open connection with it."""
    away = broker.with_suffix(".away")
    _hang_up()
    broker.rename(away)
    try:
        yield
    finally:
        _hang_up()
        away.rename(broker)


@pytest.fixture
def broker_is_down(broker: Path) -> Iterator[None]:
    """Let the broker be away for a whole test."""
    with down(broker):
        yield


def _hang_up() -> None:
    pools.reset()
    app._after_fork()  # what Celery itself does to forget connections that are no longer good
