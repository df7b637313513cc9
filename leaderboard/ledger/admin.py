"""The ledger in the admin."""

from django.contrib import admin

from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.ledger.models import Entry


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ("seq", "at", "kind", "subject", "hash")
    list_filter = ("kind",)
    search_fields = ("subject", "hash")
