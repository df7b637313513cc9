"""Runs, attempts, receipts and agents in the admin: to read. Keys and capabilities show as nothing, not even hashed."""

from django.contrib import admin

from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.runs.models import Agent, Attempt, Receipt, Run, Score


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
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("id", "run_id", "kind", "shard", "number", "state", "cause", "agent", "leased_at", "ended_at")
    list_filter = ("state", "kind", "cause")
    list_select_related = ("agent",)
    search_fields = ("=run__submission__id",)
    exclude = ("capability_digest",)


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    list_display = ("id", "attempt_id", "sha256", "stored")
    search_fields = ("sha256",)


@admin.register(Score)
class ScoreAdmin(ReadOnlyAdmin):
    list_display = ("id", "run_id", "shard", "bpb", "num_bytes")
    list_filter = ("shard",)
