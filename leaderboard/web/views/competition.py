"""A competition's overview, and the rules its scripts are judged by."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.web import rulebook
from leaderboard.web.views.shell import find_competition, shell


@require_safe
def overview(request: HttpRequest, competition: str) -> HttpResponse:
    """Show what the competition is about, its phases and how to take part."""
    context = shell(request, find_competition(competition), "overview")
    return render(request, "web/competition.html", context | {"origin": settings.CSRF_TRUSTED_ORIGINS[0]})


@require_safe
def rules(request: HttpRequest, competition: str) -> HttpResponse:
    """Show the policy in force and what each rule looks for, why, and what to do instead."""
    contest = find_competition(competition)
    policy = contest.policies.order_by("-number").first()
    context = shell(request, contest, "rules") | {
        "policy": policy,
        "allowed": sorted(policy.body.get("allow_env", [])) if policy else [],
        "rules": rulebook.entries(policy.body) if policy else [],
    }
    return render(request, "web/rules.html", context)
