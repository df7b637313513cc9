"""A team's own page in a competition: its name, its members, its versions."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from leaderboard.accounts.services import ensure_team
from leaderboard.core.errors import Refusal
from leaderboard.submissions import quota
from leaderboard.web.forms import TeamForm
from leaderboard.web.views.shell import find_competition, member, shell


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def team(request: HttpRequest, competition: str) -> HttpResponse:
    """Show the team and its versions; who has none yet may name one."""
    user = member(request)
    contest = find_competition(competition)
    context, status = shell(request, contest, "team"), 200
    form = TeamForm(request.POST or None, initial={"name": user.username[:40]})
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                made = ensure_team(user=user, competition=contest, name=form.cleaned_data["name"])
                messages.success(request, f"You compete as {made.name}.")
                return redirect("web:team", competition=contest.slug)
            except Refusal as refusal:
                form.add_error("name", refusal.message)
                status = refusal.status
    if context["team"]:
        context["parts"] = [
            {
                "phase": phase,
                "quota": quota.standing(context["team"], phase),
                "submissions": context["team"].submissions.filter(phase=phase).defer("script").order_by("-version"),
            }
            for phase in context["phases"]
        ]
    return render(request, "web/team.html", context | {"form": form}, status=status)
