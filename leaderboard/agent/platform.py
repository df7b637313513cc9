"""The platform as an agent sees it: five calls over HTTP, the last four under a capability for one attempt."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

log = logging.getLogger(__name__)
# A site that chokes on one request must not keep this host from the next run for long. One that is away as a whole, or
# has no room on its disk, has no next run to give either: so the end of a run waits until it is back.
PATIENCE_SECONDS = 300.0
OUTAGE_SECONDS = 86_400.0
AWAY = frozenset({429, 502, 503, 504, 507})
Reply = httpx.Response


class Refused(Exception):
    """The platform answered, and the answer is no: the attempt is not, or no longer, this agent's."""


class Unreachable(Exception):
    """The platform did not answer, or not in a way that says anything of this request."""


class Away(Unreachable):
    """Nobody would be answered now: there is no connection, or the platform says that it cannot serve."""


@dataclass(frozen=True)
class Offer:
    """A claimed attempt: what to do, and how often to say that it is being done."""

    attempt_id: int
    job: dict[str, Any]
    heartbeat_seconds: float


class Platform:
    """A connection to the platform with an agent's key; `claim` narrows it to one attempt."""

    def __init__(
        self, url: str, agent_key: str, patience: float = PATIENCE_SECONDS, outage: float = OUTAGE_SECONDS
    ) -> None:
        self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/agents/", timeout=20, follow_redirects=False)
        self._agent_key, self._patience, self._outage = agent_key, patience, outage
        self._attempt = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def claim(self, attempt_id: int, **facts: Any) -> Offer | None:
        """Lease an attempt; None when it is not to be had: taken, ended, for other hardware, or nobody answers."""
        headers = {"Authorization": f"Agent {self._agent_key}"}
        try:
            # An outage is not waited for: what is offered now is offered again when it is over.
            reply = self._ask(
                lambda: self._http.post(f"attempts/{attempt_id}/claim", json=facts, headers=headers), outage=0
            )
        except (Refused, Unreachable) as no:
            log.info("attempt %s not claimed: %s", attempt_id, no)
            return None
        body = reply.json()
        self._attempt = attempt_id
        self._http.headers["Authorization"] = f"Bearer {body['capability']}"
        return Offer(attempt_id, body["job"], float(body["heartbeat_seconds"]))

    def script(self) -> bytes:
        """Fetch the audited bytes."""
        return self._ask(lambda: self._http.get(f"attempts/{self._attempt}/script"), outage=self._outage).content

    def report(self, events: list[dict[str, Any]]) -> bool:
        """Post what happened since last time (also a sign of life); True when the run is no longer wanted."""
        reply = self._once(lambda: self._http.post(f"attempts/{self._attempt}/events", json={"events": events}))
        return bool(reply.json()["cancel"])

    def append_log(self, offset: int, data: bytes) -> int:
        """Post bytes of the training log; return how many the platform has, which is where to go on."""
        url = f"attempts/{self._attempt}/log"
        reply = self._once(lambda: self._http.put(url, params={"offset": offset}, content=data), answers=(409,))
        return int(reply.json()["size"])

    def finish(self, outcome: dict[str, Any], before: Callable[[], object] = lambda: None) -> None:
        """Hand in the signed receipt, or the sentence why this host has none; `before` goes before each try."""

        def hand_in() -> Reply:
            before()
            return self._http.post(f"attempts/{self._attempt}/finish", json=outcome)

        self._ask(hand_in, outage=self._outage)

    def _ask(self, call: Callable[[], Reply], outage: float) -> Reply:
        """Call until there is an answer, or patience ends; an outage of up to `outage` seconds does not try it."""
        now = time.monotonic()
        back_by, answered_by, pause = now + outage, now + self._patience, 0.2
        while True:
            try:
                return self._once(call)
            except Unreachable as gone:
                now = time.monotonic() + pause
                if isinstance(gone, Away) and now <= back_by:
                    answered_by = now + self._patience
                elif now > answered_by:
                    raise
                time.sleep(pause)
                pause = min(pause * 2, 5.0)

    @staticmethod
    def _once(call: Callable[[], Reply], answers: tuple[int, ...] = ()) -> Reply:
        try:
            reply = call()
        except httpx.TransportError as error:
            raise Away(str(error)) from error
        if reply.status_code in AWAY:
            raise Away(f"the platform answered {reply.status_code}")
        if reply.status_code >= 500:
            raise Unreachable(f"the platform answered {reply.status_code}")
        if not reply.is_success and reply.status_code not in answers:
            raise Refused(f"{reply.status_code} {reply.text[:300]}")
        return reply
