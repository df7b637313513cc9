"""Addresses of the site."""

from django.contrib import admin
from django.urls import include, path

from leaderboard.api.root import api

handler500 = "leaderboard.web.views.fault.fault"
urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", api.urls),
    path("", include("leaderboard.web.urls")),
]
