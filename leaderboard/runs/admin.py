"""Runs, attempts, receipts and agents in the admin: to read. Keys and capabilities show as nothing, not even hashed.

What is hidden until a release is hidden here from everybody, whatever their rights: organizers have the private board.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.runs.models import Agent, Attempt, Receipt, Run, Score


class UnsealedAdmin(ReadOnlyAdmin):
    """Rows about attempts, without those that nobody may know of yet."""

    attempt = ""  # how rows lead to their attempt

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        hidden = Q(**{f"{self.attempt}hidden": True, f"{self.attempt}run__submission__phase__released_at": None})
        return super().get_queryset(request).exclude(hidden)


@admin.register(Agent)
class AgentAdmin(ReadOnlyAdmin):
    list_display = ("name", "hardware", "created", "last_seen", "revoked")
    exclude = ("digest",)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("id", "submission_id", "index", "state", "step", "charged_seconds", "startup_seconds")
    list_filter = ("state",)
    search_fields = ("=submission__id",)


@admin.register(Attempt)
class AttemptAdmin(UnsealedAdmin):
    list_display = ("id", "run_id", "kind", "shard", "number", "state", "cause", "agent", "leased_at", "ended_at")
    list_filter = ("state", "kind", "cause")
    list_select_related = ("agent",)
    search_fields = ("=run__submission__id",)
    exclude = ("capability_digest",)


@admin.register(Receipt)
class ReceiptAdmin(UnsealedAdmin):
    attempt = "attempt__"
    list_display = ("id", "attempt_id", "sha256", "stored")
    search_fields = ("sha256",)


@admin.register(Score)
class ScoreAdmin(UnsealedAdmin):
    attempt = "attempt__"
    list_display = ("id", "run_id", "shard", "bpb", "published_bpb", "num_bytes")
    list_filter = ("shard",)
