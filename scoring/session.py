"""Listens to model servers and their scorer, and says how it ended.

The scorer (trusted) speaks JSON lines; the server's output is text of submitted code. That text is held in memory and
becomes the log only when the scorer says that the model did not load, without having said *ready*: from then on the
server sees sealed rows, and what it prints is an exfiltration channel. At any other end that text may hold rows, since
what is printed after *ready* can be heard before *ready* is. Later nobody reads it at all, which would cost CPU time
that the model is not charged for.

There are two servers, one after the other. When the scorer says *scored*, the first is killed; only when nothing of it
is left is the second one started. Nothing that the second prints is ever shown: the first has seen rows, and what it
may have left on this host for the second to find is not to come out as the reason why that one did not load.
"""

import json
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring import outcomes
from scoring.sandbox.box import Box
from scoring.sandbox.spec import SandboxError

_HELD = 1 << 20  # bytes of a server's output held until it is ready


@dataclass
class Session:
    """Listens to both sandboxes until the scorer has ended; `tick` is called about twice a second.

    `last_look` is called before the first server is killed, `next_server` starts the second and returns it,
    `more_seconds` is what that adds to the deadline.
    """

    server: Box
    scorer: Box
    cancel: int
    deadline: float
    log_bytes: int
    tick: Callable[[], None]
    last_look: Callable[[], object] = lambda: None
    next_server: Callable[[], Box] | None = None
    more_seconds: float = 0.0
    held: bytes = b""
    printed: int = 0
    ready: bool = False
    scored: bool = False
    result: dict[str, Any] | None = None
    cause: str = ""  # why it was called off
    out_of_memory: bool = False
    _lines: bytes = b""

    def listen(self) -> None:
        """Return when the scorer has said its last word, or the run was called off."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.scorer.output, selectors.EVENT_READ, self._hear_scorer)
            selector.register(self.server.output, selectors.EVENT_READ, self._hear_server)
            selector.register(self.cancel, selectors.EVENT_READ, self._hear_cancel)
            while not self.cause:
                if time.monotonic() > self.deadline:
                    self._give_up()
                for key, _ in selector.select(0.5):
                    if key.data() is False:
                        selector.unregister(key.fd)
                        if key.fd == self.scorer.output:
                            return
                if self.scored and self.next_server is not None and not self.cause:
                    self._change_servers(selector, self.next_server)
                if self.ready and self.server.output >= 0:
                    if self.server.output in selector.get_map():
                        selector.unregister(self.server.output)
                    self.server.stop_listening()
                self.tick()

    def _change_servers(self, selector: selectors.BaseSelector, start: Callable[[], Box]) -> None:
        """End the first server, see that nothing of it is left, start the second."""
        began = time.monotonic()
        if self.server.output >= 0 and self.server.output in selector.get_map():
            selector.unregister(self.server.output)
        self.last_look()
        self.server.close()
        self.next_server = None
        self.ready, self.held, self.printed = False, b"", 0
        self.server = start()
        selector.register(self.server.output, selectors.EVENT_READ, self._hear_server)
        self.deadline += self.more_seconds + time.monotonic() - began

    def _give_up(self) -> None:
        """Call it off. While the server lives, it may be what holds the scorer up, so the end is the script's."""
        if not self.server.is_alive():
            raise SandboxError("the scorer did not end in time")
        self.cause = "eval_timeout"

    def _hear_cancel(self) -> None:
        self.cause = "cancelled"

    def _hear_server(self) -> bool:
        if self.ready:
            return True
        chunk = os.read(self.server.output, 1 << 16)
        self.held = (self.held + chunk)[-_HELD:]
        self.printed += len(chunk)
        if self.printed > self.log_bytes:
            self.cause = "log_limit"
        return bool(chunk)

    def _hear_scorer(self) -> bool:
        chunk = os.read(self.scorer.output, 1 << 16)
        *lines, self._lines = (self._lines + chunk)[-(1 << 20) :].split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message.get("event") == "ready":
                self.ready, self.held = True, b""
            elif message.get("event") == "scored":
                self.scored = True
            elif "ok" in message:
                self.result = message
        return bool(chunk)

    def end(self) -> None:
        """Kill both sides and wait until nothing is left of them."""
        self.last_look()
        self.out_of_memory = self.server.group.out_of_memory()  # the counter goes away with the box
        for sandbox in (self.server, self.scorer):
            sandbox.kill()
            sandbox.wait()

    def reason(self) -> bytes:
        """Return the output that explains why the first model did not load; empty at every other end."""
        failed = self.result is not None and self.result.get("code") == "load_failed"
        return self.held if failed and not self.ready and not self.scored and not self.cause else b""

    def verdict(self, words: str, complaint: str) -> tuple[str, str]:
        """Return (outcome code, detail for the team): `words` are the model's last, `complaint` the scorer's own.

        Raises SandboxError when the scorer failed, which is nobody's submission's doing.
        """
        if self.cause:
            return self.cause, ""
        if self.result is not None and self.result.get("ok") is True:
            return "ok", ""
        if self.result is not None and self.result.get("code") == "breach":
            return "breach", str(self.result["detail"])
        if self.out_of_memory:
            return "memory_limit", ""
        code = "" if self.result is None else str(self.result.get("code"))
        if code not in outcomes.OUTCOMES or outcomes.of(code).owner != "script":
            said = complaint.strip().splitlines()
            raise SandboxError(f"the scorer failed: {said[-1][:300] if said else 'it ended without a result'}")
        return code, "" if self.ready else words
