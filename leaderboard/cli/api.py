"""The platform's public API over HTTP: one class, every answer either checked JSON or an error of errors.py.

The token travels in one header to one origin. Redirects are not followed: the place they name was chosen by
somebody else. Nothing here tries again; who may wait decides that (waiting.py, send.py).
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING, Any

from leaderboard.cli.answers import LogPiece, Submission, maybe, rows
from leaderboard.cli.errors import (
    BadAnswer,
    Broken,
    CliError,
    NotAuthenticated,
    QuotaUsed,
    ServerFault,
    Unreachable,
    Usage,
)
from leaderboard.cli.origin import is_loopback
from leaderboard.cli.settings import Settings

if TYPE_CHECKING:
    import httpx

_MAX_ANSWER = 8 << 20
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0


class Api:
    """Speak to one server. Use as a context manager; httpx is imported here and nowhere before."""

    def __init__(self, settings: Settings) -> None:
        import httpx

        self._settings = settings
        self._base = f"{settings.base}/api/v1/"
        headers = {"Accept": "application/json", "User-Agent": "holdout-submit"}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        # A proxy named in the environment must not see what is meant for this machine.
        self._client: httpx.Client = httpx.Client(
            headers=headers, follow_redirects=False, trust_env=not is_loopback(settings.origin)
        )

    def __enter__(self) -> Api:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    @property
    def base(self) -> str:
        """The server's address, for sentences."""
        return self._settings.base

    def page(self, path: str) -> str:
        """Return the full address of a page that the server named by path."""
        return f"{self._settings.base}{path}" if path.startswith("/") else path

    def send(self, *, name: str, script: bytes, fields: dict[str, str], key: str) -> Submission:
        """Upload a script; however often it is sent under one `key`, it counts once. Raises what errors.py lists."""
        answer = self._ask(
            "POST",
            "submissions",
            data=fields,
            files={"script": (name, script, "text/x-python")},
            headers={"Idempotency-Key": key},
            read_seconds=60.0,
        )
        return Submission.read(answer)

    def submission(self, number: int, *, read_seconds: float = _READ_SECONDS) -> Submission:
        """Return a submission as it is now."""
        return Submission.read(self._ask("GET", f"submissions/{number}", read_seconds=read_seconds))

    def events(self, number: int, after: int, *, read_seconds: float = _READ_SECONDS) -> list[dict[str, Any]]:
        """Return the events that came after the event with that id, oldest first."""
        answer = self._ask("GET", f"submissions/{number}/events", params={"after": after}, read_seconds=read_seconds)
        return rows(answer, "events")

    def log(self, number: int, offset: int, run: int, *, read_seconds: float = _READ_SECONDS) -> LogPiece:
        """Return a piece of a run's log from byte `offset` on; runs count from 0."""
        where = {"offset": offset, "run": run}
        return LogPiece.read(self._ask("GET", f"submissions/{number}/log", params=where, read_seconds=read_seconds))

    def page_of_own(self, asked: dict[str, str | int]) -> tuple[list[dict[str, Any]], int | None]:
        """Return a page of the caller's submissions, newest first, and the cursor of the next one."""
        answer = self._ask("GET", "submissions", params=asked)
        return rows(answer, "submissions"), maybe(answer, "next", int)

    def take_back(self, number: int, verb: str) -> Submission:
        """Cancel or withdraw a submission. Raises Usage already_over."""
        return Submission.read(self._ask("POST", f"submissions/{number}/{verb}"))

    def start_login(self, label: str, scope: str) -> dict[str, Any]:
        """Begin a login of this machine."""
        return dict(_object(self._ask("POST", "device/start", data={"label": label, "scope": scope})))

    def ask_login(self, device_code: str, *, read_seconds: float = _READ_SECONDS) -> dict[str, Any]:
        """Ask for the token of a login. Raises Usage with RFC 8628's codes while there is none."""
        form = {"device_code": device_code}
        return dict(_object(self._ask("POST", "device/token", data=form, read_seconds=read_seconds)))

    def me(self) -> dict[str, Any]:
        """Return who the token acts as."""
        return dict(_object(self._ask("GET", "me")))

    def revoke(self) -> None:
        """Make the token useless."""
        self._ask("POST", "me/token/revoke")

    def competitions(self) -> list[dict[str, Any]]:
        """Return the competitions with their phases."""
        return rows({"competitions": self._ask("GET", "competitions")}, "competitions")

    def standings(self, competition: str, phase: str, *, private: bool = False) -> dict[str, Any]:
        """Return a board of a phase."""
        answer = self._ask(
            "GET",
            f"competitions/{_segment(competition)}/phases/{_segment(phase)}/standings",
            params={"shard": "private"} if private else {},
        )
        rows(answer, "rows")
        return dict(answer)

    def _ask(self, method: str, path: str, *, read_seconds: float = _READ_SECONDS, **parts: Any) -> Any:
        import httpx

        timeout = httpx.Timeout(read_seconds, connect=min(_CONNECT_SECONDS, read_seconds))
        try:
            with self._client.stream(method, self._base + path, timeout=timeout, **parts) as response:
                body = b""
                for block in response.iter_bytes():
                    body += block
                    if len(body) > _MAX_ANSWER:
                        raise BadAnswer(f"{self.base} sent more than {_MAX_ANSWER >> 20} MB; that is no answer.")
                return self._judge(response, body)
        except httpx.ConnectError as error:
            raise Unreachable(f"{self.base} cannot be reached; check the address and that the server runs.") from error
        except httpx.TimeoutException as error:
            raise Broken(f"{self.base} did not answer in time; {_again(method)}.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Broken(f"The connection to {self.base} broke before it answered; {_again(method)}.") from error

    def _judge(self, response: httpx.Response, body: bytes) -> Any:
        status = response.status_code
        if 300 <= status < 400:
            raise BadAnswer(
                f"{self.base} points to another address ({response.headers.get('location', 'unnamed')}), and a token "
                "is not carried along; if you trust that address, name it in SUBMIT_URL yourself."
            )
        if status >= 500:
            raise self._fault(status, body)
        answer = self._parse(body, status)
        if status >= 400:
            raise self._refusal(status, answer)
        return answer

    def _fault(self, status: int, body: bytes) -> ServerFault:
        """Return the site's own sentence where it has one to say, such as that its disk is full."""
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        told = [answer.get(key) if isinstance(answer, dict) else None for key in ("code", "message")]
        code, sentence = (text if isinstance(text, str) else "" for text in told)
        if status == 500 or not code or not sentence:
            return ServerFault(f"{self.base} failed with status {status}; this is not your script's doing, try later.")
        return ServerFault(f"{self.base}: {sentence}", code=code)

    def _parse(self, body: bytes, status: int) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadAnswer(
                f"{self.base} answered with something that is not JSON (status {status}); is it a Holdout server?"
            ) from error

    def _refusal(self, status: int, answer: Any) -> CliError:
        code, sentence = maybe(answer, "code", str), maybe(answer, "message", str)
        if code is None or sentence is None:
            return BadAnswer(f"{self.base} refused with status {status} and gave no reason; is it a Holdout server?")
        data = {key: value for key, value in answer.items() if key not in ("code", "message", "event", "reason")}
        if status in (401, 403):
            if code == "not_authenticated" and not self._settings.token:
                try:
                    self._settings.need_token()
                except NotAuthenticated as error:
                    return error
            return NotAuthenticated(sentence, code=code, data=data)
        if status == 429:
            if code != "quota":
                return ServerFault(sentence, code=code, data=data)
            return QuotaUsed(sentence, data={"next_slot": None, **data})
        if code == "duplicate" and isinstance(data.get("submission"), int):
            sentence += f" `submit status {data['submission']}` shows it."
        return Usage(sentence, code=code, data=data)


def _again(method: str) -> str:
    return "it may have arrived, sent again it counts once" if method == "POST" else "try again later"


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise BadAnswer("The server's answer makes no sense here: it is no object.")
    return answer


def _segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
