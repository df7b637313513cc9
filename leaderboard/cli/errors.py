"""Every way in which `submit` ends without an outcome of the submission itself.

    CliError                 one sentence, one exit code, one event
    ├── Usage            2   what was typed or configured cannot be done; also what the server refuses as a request
    ├── NotAuthenticated 3   no token for this server, or the server does not take it
    ├── QuotaUsed        5   no slot is free; carries when the next one opens
    ├── PlatformFault    7   the platform, not the script and not the user
    │   ├── Unreachable      no connection                        (worth another try while following)
    │   │   └── Broken       one that broke before the answer     (also worth sending again what counts once)
    │   ├── ServerFault      5xx, or too many requests            (worth another try while following)
    │   └── BadAnswer        an answer that is not the API's      (never worth another try)
    ├── WaitedOut        8   --timeout passed; the submission goes on
    └── Interrupted    130   Ctrl-C; the submission goes on

All sentences are safe to show: they never hold a token.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Say how the command ended; the numbers are part of the interface."""

    OK = 0
    USAGE = 2
    NOT_AUTHENTICATED = 3
    REJECTED = 4
    QUOTA = 5
    FAILED = 6
    PLATFORM = 7
    TIMEOUT = 8
    IN_REVIEW = 9
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class CliError(Exception):
    """Base of the tree; `sentence` is for people, `event()` for programs."""

    exit = Exit.PLATFORM
    event_name = "error"
    code = "error"

    def __init__(self, sentence: str, *, code: str | None = None, data: dict[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code or self.code
        self.data = data or {}

    def event(self) -> dict[str, Any]:
        """Return the last object that `--json` prints."""
        return {"event": self.event_name, "code": self.code, "reason": self.sentence, **self.data}


class ReaderGone(Exception):
    """Nobody reads our output any more (`submit standings | head`). No OSError: Typer has its own idea of those."""


class Usage(CliError):
    exit = Exit.USAGE
    code = "usage"


class NotAuthenticated(CliError):
    exit = Exit.NOT_AUTHENTICATED
    code = "not_authenticated"


class QuotaUsed(CliError):
    exit = Exit.QUOTA
    event_name = "quota"
    code = "quota"


class PlatformFault(CliError):
    code = "platform"


class Unreachable(PlatformFault):
    code = "unreachable"


class Broken(Unreachable):
    """The request may have arrived."""


class ServerFault(PlatformFault):
    code = "server_fault"


class BadAnswer(PlatformFault):
    code = "bad_answer"


class WaitedOut(CliError):
    exit = Exit.TIMEOUT
    event_name = "timeout"
    code = "timeout"


class Interrupted(CliError):
    exit = Exit.INTERRUPTED
    event_name = "interrupted"
    code = "interrupted"
