"""The public board: the rows that the JSON and the CSV give, as a table."""

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaderboard.standings.queries import board
from leaderboard.web.live import block, tag_of
from leaderboard.web.views.shell import find_competition, shell

EVERY = 10  # seconds between questions while the phase is open


@require_safe
def board_page(request: HttpRequest, competition: str, phase: str) -> HttpResponse:
    """Show the board; `?open=ID` opens one row in place. htmx gets the table alone, 204 while nothing changed."""
    context = shell(request, find_competition(competition), "board", phase)
    found = context["phase"]
    shown = board(found)
    opened = request.GET.get("open", "")
    opened = opened if opened.isdecimal() and len(opened) < 19 else ""
    stamp = json.dumps([[row.to_json() for row in shown.rows], opened])
    if request.headers.get("HX-Request") and request.GET.get("seen") == tag_of(stamp):
        return HttpResponse(status=204)
    context |= {"board": shown, "opened": int(opened) if opened else None}
    table = block(
        request,
        "board",
        "web/board/table.html",
        context,
        url=reverse("web:board", args=[competition, phase]),
        every=EVERY if found.state() == "open" else None,
        stamp=stamp,
        open=opened,
    )
    if request.headers.get("HX-Request"):
        return HttpResponse(table.html)
    return render(request, "web/board.html", context | {"table": table.html})
