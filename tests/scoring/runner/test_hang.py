"""Whose doing it is when a scorer does not come to its end."""

import os
import time
from collections.abc import Iterator

import pytest

from scoring.sandbox import box
from scoring.sandbox.spec import SandboxError
from scoring.session import Session
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox


@pytest.fixture
def session() -> Iterator[Session]:
    """A session past its deadline, with a scorer that hangs."""
    server, scorer = (box.start(inside.spec("import signal; signal.pause()")) for _ in range(2))
    for sandbox in (server, scorer):
        sandbox.go()
    quiet, other_end = os.pipe()
    try:
        yield Session(server, scorer, quiet, time.monotonic() - 1, log_bytes=1000, tick=lambda: None)
    finally:
        for sandbox in (server, scorer):
            sandbox.close()
        os.close(quiet)
        os.close(other_end)


def test_beside_a_living_server_it_is_the_scripts(session: Session) -> None:
    session.listen()
    assert session.cause == "eval_timeout"


def test_when_the_server_is_gone_the_host_is_at_fault(session: Session) -> None:
    session.server.kill()
    session.server.wait()
    with pytest.raises(SandboxError, match="did not end in time"):
        session.listen()
