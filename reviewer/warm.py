"""Keeps a process ready that has imported everything and forks one for each audit.

A process audits one text and ends: whatever the text does to it, the next one has another. Starting an interpreter
and importing the parser and the rules costs several times what the audit of most scripts does, so programs that live
long keep a process that has done this (`nursery.py`) and never sees a text itself. All others start a process when
they need it. After a fork the parent's nursery is left to the parent, which alone may talk to it.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

Start = Callable[[], "subprocess.Popen[bytes]"]
Done = subprocess.CompletedProcess[bytes]

_lock = threading.Lock()
_waiting: list[Nursery] = []
_owner = 0  # the process that asked for it
_command: Sequence[str] = ()


class Lost(Exception):
    """The nursery is gone; that says nothing of any text."""


class Nursery:
    """This end of a process that forks. One audit at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it; it is ready when it answers. Raises OSError."""
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nothing = subprocess.DEVNULL
        try:
            with theirs:  # a group of its own, so that it is ended with what it has forked
                self.process = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=nothing, stderr=nothing, env={}, cwd="/", process_group=0
                )
        except OSError:
            self._line.close()
            raise

    def run(self, request: bytes, timeout: float) -> Done:
        """Return what a new process answers and how it ended. Raises Lost, subprocess.TimeoutExpired and OSError."""
        deadline = time.monotonic() + timeout
        output, errors = self._hand_over(request)
        texts = {output: bytearray(), errors: bytearray()}
        try:
            with selectors.DefaultSelector() as selector:
                for pipe in texts:
                    selector.register(pipe, selectors.EVENT_READ)
                while selector.get_map():
                    for key, _ in selector.select(self._left(deadline, timeout)):
                        part = os.read(key.fd, 1 << 16)
                        texts[key.fd] += part
                        if not part:
                            selector.unregister(key.fd)
            self._line.settimeout(self._left(deadline, timeout))
            said = self._line.recv(16)
        except ConnectionError as error:
            raise Lost from error
        except TimeoutError as error:
            raise subprocess.TimeoutExpired(self.process.args, timeout) from error
        finally:
            os.close(output)
            os.close(errors)
        if not said:
            raise Lost
        return subprocess.CompletedProcess(self.process.args, int(said), bytes(texts[output]), bytes(texts[errors]))

    def _hand_over(self, request: bytes) -> tuple[int, int]:
        """Send the request, and return the ends of the pipes from which answer and errors will come."""
        with ExitStack() as kept, ExitStack() as handed:

            def pipe() -> tuple[int, int]:
                ours, theirs = os.pipe()
                kept.callback(os.close, ours)
                handed.callback(os.close, theirs)
                return ours, theirs

            given = os.memfd_create("request")
            handed.callback(os.close, given)
            (output, says), (errors, complains) = pipe(), pipe()
            with open(given, "wb", closefd=False) as file:
                file.write(request)
            os.lseek(given, 0, os.SEEK_SET)
            try:
                socket.send_fds(self._line, [b"?"], [given, says, complains])
            except ConnectionError as error:
                raise Lost from error
            kept.pop_all()
        return output, errors

    def _left(self, deadline: float, timeout: float) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise subprocess.TimeoutExpired(self.process.args, timeout)
        return left

    def close(self) -> None:
        """End it and what it has forked."""
        self._line.close()
        with suppress(ProcessLookupError):  # not reaped yet, so the number is still its own
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def keep(command: Sequence[str]) -> None:
    """Keep a nursery from now on, until this process ends. A program that forks asks after its forks."""
    global _owner, _command
    if _owner != os.getpid():
        _owner, _command = os.getpid(), command
        _waiting.clear()
        atexit.register(_dismiss)
    _refill(None)


def run(start: Start, request: bytes, timeout: float) -> Done:
    """Have a request answered by a process of its own. Raises OSError and subprocess.TimeoutExpired."""
    deadline = time.monotonic() + timeout
    with _lock:
        nursery = _waiting.pop() if _waiting and _owner == os.getpid() else None
    if nursery is not None:
        try:
            done = nursery.run(request, timeout)
        except Lost:
            nursery.close()
        except BaseException:
            nursery.close()
            _refill(None)
            raise
        else:
            _refill(nursery)
            return done
    try:
        return _by_itself(start, request, max(deadline - time.monotonic(), 0.0))
    finally:
        _refill(None)


def _by_itself(start: Start, request: bytes, timeout: float) -> Done:
    with start() as process:
        try:
            output, errors = process.communicate(request, timeout=timeout)
        finally:
            if process.poll() is None:
                process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _refill(used: Nursery | None) -> None:
    """Put a nursery back, or start one where none waits."""
    with _lock:
        if _owner == os.getpid() and not _waiting:
            with suppress(OSError):  # the next audit tries again, and says what is wrong
                _waiting.append(used or Nursery(_command))
                return
    if used is not None:
        used.close()


def _dismiss() -> None:
    with _lock:
        while _waiting and _owner == os.getpid():
            _waiting.pop().close()


def _after_a_fork() -> None:
    """Have a lock of one's own: another thread may have held it while this process was forked."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_a_fork)
