"""What the API's newer answers look like, for its OpenAPI document and for the type checker."""

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import ConfigDict


class Problem(Schema):
    """The one shape of errors: a code for programs, a sentence for people, and data that go with it."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class Listed(Schema):
    """One line of the caller's list of submissions; `bpb` is rounded to the phase's step."""

    id: int
    version: int
    team: str
    competition: str
    phase: str
    state: str
    final: bool
    created: datetime
    note: str
    bpb: float | None
    n: int
    rounding: float
    url: str


class Page(Schema):
    """A page of a list, newest first; `next` is the cursor of the page after it, null on the last."""

    submissions: list[Listed]
    next: int | None


class TeamName(Schema):
    """A team of the caller's."""

    competition: str
    team: str


class TokenFacts(Schema):
    """What a token is called, may do and how long it lasts; never its text."""

    name: str
    scope: str
    expires: datetime


class Me(Schema):
    """The caller, with the token they came with, null for a session."""

    user: str
    teams: list[TeamName]
    token: TokenFacts | None


class Revoked(Schema):
    """The token is of no use from now on."""

    revoked: bool


class DeviceStarted(Schema):
    """RFC 8628's device authorization response; times in seconds."""

    device_code: str
    user_code: str
    verification_url: str
    expires_in: int
    interval: int


class DeviceToken(Schema):
    """RFC 8628's token response, with whose it is."""

    access_token: str
    token_type: str
    scope: str
    name: str
    expires: datetime
    user: str


def answers(kind: Any, *refused: int, ok: int = 200) -> dict[Any, Any]:
    """Return the `response` of an operation: this on success, the one shape of errors for these statuses."""
    return {ok: kind, frozenset(refused): Problem}
