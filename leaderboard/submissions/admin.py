"""Submissions in the admin: read only, but for the decision about one in review."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from leaderboard.accounts.models import User
from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import Event, QuotaEntry, Report, Submission
from leaderboard.submissions.services import decide


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ("id", "team", "phase", "version", "state", "reason_code", "created", "changed")
    list_filter = ("state", "phase")
    list_select_related = ("team", "phase")
    search_fields = ("team__name", "script_sha256")
    exclude = ("script",)
    actions = ("accept", "reject")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        return Submission.objects.defer("script")

    @admin.action(description="Accept what is in review")
    def accept(self, request: HttpRequest, chosen: QuerySet[Submission]) -> None:
        self._decide(request, chosen, accept=True)

    @admin.action(description="Reject what is in review")
    def reject(self, request: HttpRequest, chosen: QuerySet[Submission]) -> None:
        self._decide(request, chosen, accept=False, reason="An organizer looked at it and does not accept it.")

    def _decide(self, request: HttpRequest, chosen: QuerySet[Submission], **decision: Any) -> None:
        organizer = request.user
        assert isinstance(organizer, User)  # the admin lets nobody else in
        for submission in chosen.select_related("phase__competition", "team"):
            try:
                done = decide(organizer=organizer, submission=submission, **decision)
            except Refusal as refusal:
                self.message_user(request, refusal.message, messages.ERROR)
            else:
                said = "decided" if done else "is not in review"
                self.message_user(request, f"Submission {submission.pk} {said}.")


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    list_display = ("id", "submission", "verdict", "ruleset", "created")
    list_filter = ("verdict",)
    raw_id_fields = ("submission",)


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("id", "at", "submission_id", "kind", "state", "message", "actor")
    list_filter = ("kind", "state")
    search_fields = ("=submission__id",)


@admin.register(QuotaEntry)
class QuotaEntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "at", "submission_id", "kind", "cause", "window")
    list_filter = ("kind",)
    search_fields = ("=submission__id",)
