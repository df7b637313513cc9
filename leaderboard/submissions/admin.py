"""Submissions in the admin: to read, and to decide about in bulk, by the same service as the queue's pages."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.submissions.bulk import decide
from leaderboard.submissions.models import Event, QuotaEntry, Report, Submission
from leaderboard.submissions.moderation import Action


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
        return decide(self, request, chosen, Action.ACCEPT)

    @admin.action(description="Reject what is in review …")
    def reject(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return decide(self, request, chosen, Action.REJECT)

    @admin.action(description="Disqualify …")
    def disqualify(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return decide(self, request, chosen, Action.DISQUALIFY)

    @admin.action(description="Reinstate what is disqualified …")
    def reinstate(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return decide(self, request, chosen, Action.REINSTATE)

    @admin.action(description="Run again what failed or errored …")
    def rerun(self, request: HttpRequest, chosen: QuerySet[Submission]) -> HttpResponse | None:
        return decide(self, request, chosen, Action.RERUN)


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
