"""A small real HTTP server that answers the public API from a script, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DROP = "drop"  # close the connection without an answer
API = "/api/v1/"


@dataclass
class Answer:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    query: dict[str, list[str]]

    @property
    def token(self) -> str | None:
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None

    def fields(self) -> dict[str, bytes]:
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + self.body).get_payload()
        return {str(p.get_param("name", header="content-disposition")): p.get_payload(decode=True) for p in parts}


class Site:
    """Answers are queued by method and path; the last one of a queue is given for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._queues: dict[tuple[str, str], deque[Any]] = defaultdict(deque)
        self._events: list[dict[str, Any]] = []
        self._kind = "state"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, method: str, path: str, *answers: Any) -> Site:
        self._queues[method, API + path].extend(answers)
        return self

    def life(self, *submissions: dict[str, Any] | Answer | str, kind: str = "state") -> Site:
        """Let the upload succeed and the submission be these, one for each look at it; its events are of `kind`."""
        self._kind = kind
        self.on("POST", "submissions", Answer(submission("received"), 201))
        return self.on("GET", "submissions/17", *submissions)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, asked: Asked) -> Any:
        if asked.path == f"{API}submissions/17/events" and ("GET", asked.path) not in self._queues:
            after = int(asked.query["after"][0])
            return Answer({"events": [event for event in self._events if event["id"] > after], "state": "…"})
        queue = self._queues.get((asked.method, asked.path))
        if not queue:
            return Answer({"code": "not_found", "message": "There is nothing here."}, 404)
        answer = queue.popleft() if len(queue) > 1 else queue[0]
        if isinstance(answer, dict):
            answer = Answer(answer)
        if isinstance(answer, Answer) and asked.path == f"{API}submissions/17" and isinstance(answer.body, dict):
            self._remember(answer.body)
        return answer

    def _remember(self, body: dict[str, Any]) -> None:
        state = body.get("state")
        if state and (not self._events or self._events[-1]["state"] != state):
            number = len(self._events) + 1
            self._events.append(
                {
                    "id": number,
                    "at": "2026-01-05T10:00:00Z",
                    "kind": self._kind,
                    "state": state,
                    "message": f"Now {state}.",
                }
            )

    def _handler(site) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {k.lower(): v for k, v in self.headers.items()}
                asked = Asked(self.command, parts.path, headers, body, parse_qs(parts.query))
                site.asked.append(asked)
                answer = site._answer(asked)
                if answer == DROP:
                    return
                raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {"content-length": str(len(raw)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = handle_one

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


def submission(state: str, **more: Any) -> dict[str, Any]:
    """Return a Submission as the API writes it."""
    return {
        "id": 17,
        "version": 3,
        "team": "team-41",
        "competition": "demo",
        "phase": "open",
        "state": state,
        "reason": None,
        "created": "2026-01-05T10:00:00Z",
        "launch": "python train.py",
        "note": "",
        "script_sha256": "0" * 64,
        "report": None,
        "runs": [],
        "quota": {"limit": 5, "used": 1, "next_slot": None},
        "standing": None,
        "url": "/submissions/17",
        **more,
    }


STANDING = {
    "rank": 2,
    "team": "team-41",
    "submission": 17,
    "version": 3,
    "bpb": 1.9,
    "n": 3,
    "ci_low": 1.89,
    "ci_high": 1.91,
    "sd": 0.004,
    "compute_used_seconds": 59.0,
    "compute_granted_seconds": 60.0,
    "note": "wider, 14 layers",
    "when": "2026-01-05T10:05:00Z",
}
RANKED = submission("ranked", standing={**STANDING, "rounding": 0.001})


def running(step: int) -> dict[str, Any]:
    """Return a Submission in the middle of its only run."""
    run = {
        "index": 0,
        "state": "running",
        "step": step,
        "charged_seconds": step / 10,
        "budget_seconds": 60,
        "startup_seconds": 3.2,
    }
    return submission("running", runs=[run])
