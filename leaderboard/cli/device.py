"""The machine's side of RFC 8628: show a code, ask as often as told, take the token once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leaderboard.cli.answers import need
from leaderboard.cli.api import Api
from leaderboard.cli.errors import BadAnswer, NotAuthenticated, Usage
from leaderboard.cli.origin import parse_url
from leaderboard.cli.waiting import Clock, Waiting
from leaderboard.cli.words import one_line

_LONGEST, _SLOWEST = 3600, 120


@dataclass(frozen=True)
class Asked:
    """What the user is shown; seconds."""

    user_code: str
    url: str
    expires_in: int


class DeviceFlow:
    """One login. The device code never leaves this object but to the server that gave it."""

    def __init__(self, api: Api, origin: str, clock: Clock) -> None:
        self._api, self._origin, self._clock = api, origin, clock
        self._secret, self._interval, self._seconds = "", 5, 600

    def start(self, label: str, scope: str) -> Asked:
        """Ask the server for codes. Raises BadAnswer for a page on another server: a code is typed where it is from."""
        answer = self._api.start_login(label, scope)
        self._secret = need(answer, "device_code", str)
        self._interval = min(max(need(answer, "interval", int), 1), _SLOWEST)
        self._seconds = min(max(need(answer, "expires_in", int), 1), _LONGEST)
        url, code = need(answer, "verification_url", str), one_line(need(answer, "user_code", str))
        if self._foreign(url):
            raise BadAnswer(
                f"{self._api.base} sends you to {one_line(url)} to confirm, which is another server; a code is typed "
                "on the server it is from. If that is the one you mean, name it with --url."
            )
        return Asked(code, one_line(url), self._seconds)

    def wait(self, note: Callable[[str], None]) -> dict[str, Any]:
        """Return the server's answer with the token once the user has confirmed. Raises NotAuthenticated."""
        waiting = Waiting(self._api.base, note, self._too_late, timeout=self._seconds, clock=self._clock)
        while True:
            waiting.wait(self._interval)
            try:
                return waiting.steadily(lambda seconds: self._api.ask_login(self._secret, read_seconds=seconds))
            except Usage as error:
                self._heed(error)

    def _heed(self, error: Usage) -> None:
        if error.code == "slow_down":
            told = error.data.get("interval")
            slower = told if isinstance(told, int) and not isinstance(told, bool) else self._interval + 5
            self._interval = min(max(slower, self._interval), _SLOWEST)
        elif error.code == "access_denied":
            raise NotAuthenticated(f"{error.sentence} Nothing is kept here.", code=error.code) from error
        elif error.code == "expired_token":
            raise self._too_late() from error
        elif error.code != "authorization_pending":
            raise NotAuthenticated(error.sentence, code=error.code) from error

    def _too_late(self) -> NotAuthenticated:
        return NotAuthenticated("Nobody confirmed the code in time; `submit login` starts again.", code="expired_token")

    def _foreign(self, url: str) -> bool:
        try:
            return parse_url(url, "verification_url")[1] != self._origin
        except Usage:
            return True
