"""Upload: a script as a file or pasted, and after it the submission's own page."""

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.core.outages import refused
from leaderboard.submissions import quota, services
from leaderboard.submissions.models import Submission
from leaderboard.web.forms import UploadForm
from leaderboard.web.views.shell import find_competition, reader, shell


@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest, competition: str, phase: str) -> HttpResponse:
    """Show the form, or take what it sent; a refusal shows its sentence and everything that was typed."""
    context = shell(request, find_competition(competition), "submit", phase)
    found, who, status, wait = context["phase"], reader(request), 200, None
    if request.method == "POST":
        form = UploadForm(request.POST, request.FILES)
        form.is_valid()
        sent = form.source()
        try:
            with refused():
                return redirect("web:submission", pk=_receive(who, found, form, sent).pk)
        except Refusal as refusal:
            form.refuse(refusal, sent, found.rules.limits.script_bytes)
            status, wait = refusal.status, refusal.data.get("retry_after")
    elif who is None:
        return redirect_to_login(request.get_full_path())
    else:
        form = UploadForm(initial={"launch": found.rules.launch.default})
    standing = quota.standing(context["team"], found)
    page = render(request, "web/upload.html", context | {"form": form, "quota": standing}, status=status)
    if wait is not None:
        page["Retry-After"] = str(wait)
    return page


def _receive(who: User | None, phase: Phase, form: UploadForm, sent: bytes | None) -> Submission:
    if who is None:
        raise Refusal("not_authenticated", "You are logged out. Log in on another tab, then send this again.", 401)
    if sent is None:
        raise Refusal("empty", "Choose a file or paste the script.")
    services.count_upload(who)
    return services.receive(
        user=who,
        competition_slug=phase.competition.slug,
        phase_slug=phase.slug,
        script=sent,
        launch=form.cleaned_data["launch"],
        note=form.cleaned_data["note"],
    )
