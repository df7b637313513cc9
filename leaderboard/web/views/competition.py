"""A competition's overview, its kit as a download, and the rules its scripts are judged by."""

import logging
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.competitions.downloads import NotHere, kit_archive
from leaderboard.web import rulebook
from leaderboard.web.download import download
from leaderboard.web.views.shell import find_competition, shell

log = logging.getLogger(__name__)


@require_safe
def overview(request: HttpRequest, competition: str) -> HttpResponse:
    """Show what the competition is about, its phases and how to take part."""
    context = shell(request, find_competition(competition), "overview")
    return render(request, "web/competition.html", context | {"origin": settings.CSRF_TRUSTED_ORIGINS[0]})


@require_safe
def kit(request: HttpRequest, competition: str) -> HttpResponseBase:
    """Hand out the kit with the open shards, for the phase that `?phase=` names or else the one to submit to."""
    contest = find_competition(competition)
    phase = shell(request, contest, "overview", request.GET.get("phase"))["phase"]
    if phase is None:
        raise Http404("no phase yet")
    try:
        archive = kit_archive(phase)
    except NotHere as missing:
        log.warning("no kit to download for %s: %s", phase, missing)
        raise Http404("not on this host") from None
    return download(request, archive, f"{contest.slug}-kit.zip")


@require_safe
def rules(request: HttpRequest, competition: str) -> HttpResponse:
    """Show the policy in force and what each rule looks for, why, and what to do instead."""
    contest = find_competition(competition)
    policy = contest.policies.order_by("-number").first()
    context = shell(request, contest, "rules") | {
        "policy": policy,
        "allowed": rulebook.allowed(policy.body) if policy else [],
        "rules": rulebook.entries(policy.body) if policy else [],
    }
    return render(request, "web/rules.html", context)


@require_safe
def rule(request: HttpRequest, competition: str, code: str) -> HttpResponse:
    """Show one rule with examples, as severe as the competition's policy makes it."""
    contest = find_competition(competition)
    policy = contest.policies.order_by("-number").first()
    found = _page(code, policy.body if policy else None)
    context = shell(request, contest, "rules") | {"rule": found.entry, "about": found}
    return render(request, "web/rule.html", context)


@require_safe
def every_rule(request: HttpRequest) -> HttpResponse:
    """List all rules as severe as they are where no competition says otherwise."""
    return render(request, "web/rulebook.html", {"rules": rulebook.by_default()})


@require_safe
def plain_rule(request: HttpRequest, code: str) -> HttpResponse:
    """Show one rule with examples, outside of any competition."""
    found = _page(code, None)
    return render(request, "web/rule_alone.html", {"rule": found.entry, "about": found})


def _page(code: str, policy: dict[str, Any] | None) -> rulebook.Page:
    if (found := rulebook.page(code, policy)) is None:
        raise Http404("no such rule")
    return found
