"""Keeps a limited process ready, so that an audit does not wait for the parser and the rules to be imported.

A process audits one text and ends: whatever the text does to it, the next one has another. So what is kept is one that
has imported everything and waits for its first line. Only long-lived programs ask for that (`keep`); all others start
a process when they need it. Its successor is started when an audit is over, not while one wants the processor. After
a fork the parent's process is left to the parent, which alone may talk to it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Start = Callable[[], "subprocess.Popen[bytes]"]

_lock = threading.Lock()
_waiting: list[subprocess.Popen[bytes]] = []
_owner = 0  # the process that asked for them


def keep(start: Start) -> None:
    """Keep one process ready from now on, until this process ends. A program that forks asks after its forks."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        atexit.register(_dismiss)
    _refill(start)


@contextmanager
def process(start: Start) -> Iterator[subprocess.Popen[bytes]]:
    """Lend the process that waits, or a new one. Raises OSError where none can be started."""
    with _lock:
        kept = _waiting.pop() if _waiting and _owner == os.getpid() else None
    if kept is not None and kept.poll() is not None:  # it died while it waited, and says nothing of any text
        _close(kept)
        kept = None
    lent = kept or start()
    try:
        yield lent
    finally:
        _close(lent)
        _refill(start)


def _refill(start: Start) -> None:
    with _lock:
        if _owner == os.getpid() and not _waiting:
            with suppress(OSError):  # the next audit tries again, and says what is wrong
                _waiting.append(start())


def _close(done: subprocess.Popen[bytes]) -> None:
    if done.poll() is None:
        done.kill()
    for pipe in (done.stdin, done.stdout, done.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    done.wait()


def _dismiss() -> None:
    if _owner == os.getpid():
        while _waiting:
            _close(_waiting.pop())
