"""The boards of a phase: the rows that the JSON and the CSV give, as a table."""

import json

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_safe

from leaderboard.core.errors import Refusal
from leaderboard.standings.queries import board
from leaderboard.submissions.visibility import sees_private
from leaderboard.web import marks
from leaderboard.web.live import block, tag_of
from leaderboard.web.views.shell import find_competition, shell

EVERY = 10  # seconds between questions while the phase is open


@require_safe
def board_page(request: HttpRequest, competition: str, phase: str) -> HttpResponse:
    """Show the public board, or the private one by `?shard=private`; `?open=ID` opens one row in place.

    htmx gets the table alone, 204 while nothing changed.
    """
    context = shell(request, find_competition(competition), "board", phase)
    found, shard = context["phase"], request.GET.get("shard", "public")
    try:
        shown = board(found, shard, request.user)
    except Refusal as refusal:
        raise Http404(refusal.message) from None
    opened = request.GET.get("open", "")
    opened = opened if opened.isdecimal() and len(opened) < 19 else ""
    stamp = json.dumps([[row.to_json() for row in shown.rows], opened])
    if request.headers.get("HX-Request") and request.GET.get("seen") == tag_of(stamp):
        return HttpResponse(status=204)
    context |= {
        "board": shown,
        "axis": marks.axis_of(shown.rows),
        "opened": int(opened) if opened else None,
        "shard_query": "" if shard == "public" else f"shard={shard}&",
        "private_open": sees_private(request.user, found),
    }
    table = block(
        request,
        "board",
        "web/board/table.html",
        context,
        url=reverse("web:board", args=[competition, phase]),
        every=EVERY if found.state() == "open" and shard == "public" else None,
        stamp=stamp,
        open=opened,
    )
    if request.headers.get("HX-Request"):
        answer = HttpResponse(table.html)
    else:
        answer = render(request, "web/board.html", context | {"table": table.html})
    if shard != "public":
        add_never_cache_headers(answer)
    return answer
