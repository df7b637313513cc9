"""Competitions in the admin: to read, since a competition file writes them; only who organizes is set here."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from leaderboard.competitions.models import Competition, Kit, Phase, Policy, ShardSet
from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.ledger import services as ledger


@admin.register(Competition)
class CompetitionAdmin(ReadOnlyAdmin):
    list_display = ("slug", "title", "kit", "shards")
    readonly_fields = ("slug", "title", "description", "kit", "shards", "file_sha256")
    filter_horizontal = ("organizers",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        # Inside the admin's own transaction, so that the entry and the change stand or fall together.
        super().save_related(request, form, formsets, change)
        competition: Competition = form.instance
        ledger.append(
            kind="competition.organizers",
            subject=f"competition:{competition.pk}",
            data={
                "organizers": list(competition.organizers.order_by("pk").values_list("pk", flat=True)),
                "actor": request.user.pk,
            },
        )


@admin.register(Phase)
class PhaseAdmin(ReadOnlyAdmin):
    list_display = ("competition", "slug", "opens", "closes", "released_at")
    list_filter = ("competition",)


@admin.register(Policy)
class PolicyAdmin(ReadOnlyAdmin):
    list_display = ("competition", "number", "created")
    list_filter = ("competition",)


@admin.register(Kit)
class KitAdmin(ReadOnlyAdmin):
    list_display = ("version", "sha256", "created")


@admin.register(ShardSet)
class ShardSetAdmin(ReadOnlyAdmin):
    list_display = ("name", "manifest_sha256", "created")
    exclude = ("inputs", "manifest")  # the seed in them deals documents to shards
