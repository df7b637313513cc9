"""Submissions in the admin: to read, and to decide about in bulk, by the same service as the queue's pages."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from leaderboard.accounts.models import User
from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import Event, QuotaEntry, Report, Submission
from leaderboard.submissions.moderation import REASON_CHARACTERS, VERBS, Action, moderate


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ("id", "team", "phase", "version", "state", "reason_code", "created", "changed")
    list_filter = ("state", "phase")
    list_select_related = ("team", "phase")
    search_fields = ("team__name", "script_sha256")
    exclude = ("script",)
    actions = tuple(action.value for action in Action)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        return Submission.objects.defer("script")

    @admin.action(description="Accept what is in review")
    def accept(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return self._decide(request, chosen, Action.ACCEPT)

    @admin.action(description="Reject what is in review …")
    def reject(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return self._decide(request, chosen, Action.REJECT)

    @admin.action(description="Disqualify …")
    def disqualify(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return self._decide(request, chosen, Action.DISQUALIFY)

    @admin.action(description="Reinstate what is disqualified …")
    def reinstate(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return self._decide(request, chosen, Action.REINSTATE)

    @admin.action(description="Run again what failed or errored …")
    def rerun(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return self._decide(request, chosen, Action.RERUN)

    def _decide(self, request: HttpRequest, chosen: QuerySet[Submission], action: Action) -> HttpResponse | None:
        """Carry out the action on each, one reason for all; without the reason that it needs, ask for it first."""
        organizer = request.user
        assert isinstance(organizer, User)  # the admin lets nobody else in
        reason = request.POST.get("reason", "")
        if VERBS[action].reason and not reason.strip():
            return self._ask(request, chosen, action)
        for submission in chosen.select_related("phase__competition", "team"):
            try:
                moderate(organizer=organizer, submission=submission, action=action, reason=reason)
            except Refusal as refusal:
                self.message_user(request, f"Submission {submission.pk}: {refusal.message}", messages.ERROR)
            else:
                self.message_user(request, f"Submission {submission.pk}: {VERBS[action].past}.")
        return None

    def _ask(self, request: HttpRequest, chosen: QuerySet[Submission], action: Action) -> HttpResponse:
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"{VERBS[action].words}: why?",
            "opts": self.model._meta,
            "submissions": chosen.select_related("phase", "team"),
            "action": action.value,
            "verb": VERBS[action],
            "checkbox": ACTION_CHECKBOX_NAME,
            "limit": REASON_CHARACTERS,
        }
        return TemplateResponse(request, "web/moderation/ask.html", context)


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    list_display = ("id", "submission", "verdict", "ruleset", "created")
    list_filter = ("verdict",)
    raw_id_fields = ("submission",)


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("id", "at", "submission_id", "kind", "state", "message", "actor")
    list_filter = ("kind", "state")
    list_select_related = ("actor",)
    search_fields = ("=submission__id",)


@admin.register(QuotaEntry)
class QuotaEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "at", "submission_id", "kind", "cause", "window")
    list_filter = ("kind",)
    search_fields = ("=submission__id",)
