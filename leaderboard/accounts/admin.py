"""People in the admin. Who is an organizer is written with a trail; tokens and teams are to read."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.http import HttpRequest

from leaderboard.accounts.models import ApiToken, Team, User
from leaderboard.core.admin import ReadOnlyAdmin
from leaderboard.ledger import services as ledger

RIGHTS = ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")


if TYPE_CHECKING:
    _UserAdmin = UserAdmin[User]
else:
    _UserAdmin = UserAdmin  # generic for the type checker only


@admin.register(User)
class PersonAdmin(_UserAdmin):
    list_display = ("username", "is_staff", "is_active", "date_joined")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            if not change or set(RIGHTS) & set(form.changed_data):
                ledger.append(
                    kind="account.rights",
                    subject=f"user:{obj.pk}",
                    data={
                        "active": obj.is_active,
                        "staff": obj.is_staff,
                        "superuser": obj.is_superuser,
                        "actor": request.user.pk,
                    },
                )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # an account is closed by making it inactive; what it did stays


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    list_display = ("name", "competition", "created")
    list_filter = ("competition",)
    search_fields = ("name",)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = ("name", "user", "created", "expires", "last_used")
    exclude = ("digest",)
