"""The ledger as a page: the chain's newest links, for comparing heads."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import head
from leaderboard.web.views.shell import reader

PER_PAGE = 50


@require_safe
def ledger(request: HttpRequest) -> HttpResponse:
    """Show the head and the entries, newest first. What an entry is about is the organizers' until it is published."""
    who = reader(request)
    seq, digest = head()
    page = Paginator(Entry.objects.order_by("-seq"), PER_PAGE).get_page(request.GET.get("page"))
    context = {"seq": seq, "digest": digest, "page": page, "full": who is not None and who.is_staff}
    return render(request, "web/ledger.html", context)
