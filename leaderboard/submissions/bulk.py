"""One decision about many submissions from a list of the admin, with one reason for all."""

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from leaderboard.accounts.models import User
from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import Submission
from leaderboard.submissions.moderation import REASON_CHARACTERS, VERBS, Action, moderate

if TYPE_CHECKING:
    from leaderboard.core.admin import ReadOnlyAdmin


def decide(
    page: "ReadOnlyAdmin", request: HttpRequest, chosen: QuerySet[Submission], action: Action
) -> HttpResponse | None:
    """Carry out the action on each and say what came of it; without the reason that it needs, ask for it first."""
    organizer = request.user
    assert isinstance(organizer, User)  # the admin lets nobody else in
    reason = request.POST.get("reason", "")
    if VERBS[action].reason and not reason.strip():
        return _ask(page, request, chosen, action)
    for submission in chosen.select_related("phase__competition", "team"):
        try:
            moderate(organizer=organizer, submission=submission, action=action, reason=reason)
        except Refusal as refusal:
            page.message_user(request, f"Submission {submission.pk}: {refusal.message}", messages.ERROR)
        else:
            page.message_user(request, f"Submission {submission.pk}: {VERBS[action].past}.")
    return None


def _ask(page: "ReadOnlyAdmin", request: HttpRequest, chosen: QuerySet[Submission], action: Action) -> HttpResponse:
    context: dict[str, Any] = {
        **page.admin_site.each_context(request),
        "title": f"{VERBS[action].words}: why?",
        "submissions": chosen.select_related("phase", "team"),
        "action": action.value,
        "verb": VERBS[action],
        "checkbox": ACTION_CHECKBOX_NAME,
        "limit": REASON_CHARACTERS,
    }
    return TemplateResponse(request, "web/moderation/ask.html", context)
