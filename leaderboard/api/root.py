"""The API object, the routers that hang on it, and the one shape of its errors: {"code", "message", …data}."""

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI, Router
from ninja.errors import AuthenticationError, HttpError, ValidationError

from leaderboard.api import agents, competitions, device, me, moderation, standings, submissions
from leaderboard.api.auth import Caller
from leaderboard.core.errors import Refusal
from leaderboard.core.outages import refusal_of

log = logging.getLogger(__name__)
api = NinjaAPI(title="Holdout", version="1", urls_namespace="api", auth=Caller(), docs_url=None)
api.add_router("me", me.router)
api.add_router("device", device.router)
api.add_router("competitions", competitions.router)
api.add_router("competitions", standings.router)
api.add_router("submissions", submissions.router)
api.add_router("submissions", moderation.router)
api.add_router("agents", agents.router)
rest = Router(auth=Caller(optional=True))
api.add_router("", rest)  # last: it takes every address that is left


@rest.api_operation(["GET", "POST", "PUT", "PATCH", "DELETE"], "/{path:left}", include_in_schema=False)
def nothing_here(request: HttpRequest, left: str) -> HttpResponse:
    """Answer in our own shape where no address fits."""
    raise Refusal("not_found", "There is nothing at this address.", 404)


def answer(request: HttpRequest, code: str, message: str, status: int, **data: Any) -> HttpResponse:
    """Return an error in the API's one shape."""
    return api.create_response(request, {"code": code, "message": message, **data}, status=status)


@api.exception_handler(Refusal)
def _refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    response = answer(request, refusal.code, refusal.message, refusal.status, **refusal.data)
    if "retry_after" in refusal.data:
        response["Retry-After"] = str(refusal.data["retry_after"])
    return response


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return answer(request, "not_authenticated", "Send a token: `Authorization: Bearer …`.", 401)


@api.exception_handler(ValidationError)
def _unfit(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0] if error.errors else {}
    place = [str(part) for part in first.get("loc", ()) if part not in ("body", "form", "file", "query", "path")]
    where = place[-1] if place else "the request"
    reason = str(first.get("msg", "not what it should be"))
    return answer(request, "bad_request", f"{where}: {reason[:1].lower()}{reason[1:]}.", 400)


@api.exception_handler(Http404)
def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return answer(request, "not_found", "There is nothing at this address.", 404)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return answer(request, "too_large", "The request is larger than this site reads.", 413)


@api.exception_handler(SuspiciousOperation)
@api.exception_handler(MultiPartParserError)
def _malformed(request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(request, "bad_request", "The form could not be read; send multipart/form-data with few fields.", 400)


@api.exception_handler(HttpError)
def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    return answer(request, "bad_request", str(error), error.status_code)


@api.exception_handler(Exception)
def _ours(request: HttpRequest, error: Exception) -> HttpResponse:
    outage = refusal_of(error)
    if outage:
        log.error("%s %s: %s", request.method, request.path, outage.code)
        return _refused(request, outage)
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    return answer(request, "internal", "Something failed on our side; it is noted. Try again.", 500)
