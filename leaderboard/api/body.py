"""JSON bodies: capped in size and depth before a parser sees them, without NaN, always an object."""

import json
import re
from typing import Any, NoReturn, TypeVar

from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from leaderboard.core.errors import Refusal

Shape = TypeVar("Shape", bound=BaseModel)
MAX_BYTES = 1 << 20
MAX_DEPTH = 24
# A string that never closes ends at the end: so nothing a host sends makes this look at a byte twice.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def json_of(request: HttpRequest) -> dict[str, Any]:
    """Return the request's JSON object. Raises Refusal too_large (413) or bad_json (400)."""
    return parse(raw_of(request))


def raw_of(request: HttpRequest) -> bytes:
    """Return the request's body, at most MAX_BYTES of it. Raises Refusal too_large (413)."""
    try:
        announced = int(request.headers.get("Content-Length") or 0)
    except ValueError:
        announced = MAX_BYTES + 1
    if announced > MAX_BYTES or len(request.body) > MAX_BYTES:
        raise Refusal("too_large", f"A body may have {MAX_BYTES:,} bytes.", 413)
    return request.body


def parse(data: bytes) -> dict[str, Any]:
    """Return a JSON object from text. Raises Refusal bad_json (400)."""
    depth = 0
    try:
        text = data.decode("utf-8")  # json.loads would also take UTF-16, in which the depth below is not seen
    except UnicodeDecodeError as error:
        raise Refusal("bad_json", "The body is not UTF-8.") from error
    for token in _STRUCTURE.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Refusal("bad_json", f"The body is nested more than {MAX_DEPTH} levels deep.")
        elif token[0] in "]}":
            depth -= 1
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal("bad_json", "The body is not JSON.") from error
    if not isinstance(value, dict):
        raise Refusal("bad_json", "The body is not a JSON object.")
    return value


def shaped(kind: type[Shape], data: dict[str, Any]) -> Shape:
    """Return an object in the shape that is asked for. Raises Refusal bad_request (400) for its first fault."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise Refusal("bad_request", f"{where}: {first['msg']}.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
