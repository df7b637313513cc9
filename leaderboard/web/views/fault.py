"""The page for what failed on our side: an outage says what it is, everything else that it is in our log."""

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views.defaults import server_error

from leaderboard.core.outages import refusal_of

log = logging.getLogger(__name__)


def fault(request: HttpRequest) -> HttpResponse:
    """Answer a request that ended in an exception; like every handler of errors, called while it is being handled."""
    refusal = refusal_of(sys.exc_info()[1])
    if refusal is None:
        return server_error(request)
    log.error("%s %s: %s", request.method, request.path, refusal.code)
    page = loader.render_to_string("outage.html", {"sentence": refusal.message})
    return HttpResponse(page, status=refusal.status, headers={"Retry-After": "60"})
