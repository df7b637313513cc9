"""What holds for all pages at once: the list of addresses is the URL conf's own, so a new page is held to it too."""

import pytest
from django.apps import apps
from django.test import Client

from tests.leaderboard.web.pages import browser, outline
from tests.leaderboard.web.site import POST_ONLY

ALLAUTH = ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"]


def everything():
    """Return every row of every table that is not the session's."""
    tables = [model for model in apps.get_models() if model._meta.app_label not in ("sessions", "admin")]
    return {model._meta.label: list(model.objects.order_by("pk").values()) for model in tables}


def test_no_get_changes_anything_whoever_asks(site):
    addresses = [*site.addresses(site.ranked).values(), *site.addresses(site.rejected).values(), *ALLAUTH]
    people = [browser(), browser(site.ada), browser(site.bob)]
    before = everything()
    for client in people:
        for address in addresses:
            client.get(address)
            client.head(address)
    assert everything() == before


def test_changes_are_posts_and_need_their_token(site):
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(site.ada)
    for name, address in site.addresses(site.ranked).items():
        if name in POST_ONLY:
            assert careful.get(address).status_code == 405
        assert careful.post(address).status_code in (403, 405), address


def test_every_page_is_well_formed_and_carries_the_content_policy(site):
    client, seen = browser(site.ada), 0
    for submission in (site.ranked, site.rejected):
        for name, address in site.addresses(submission).items():
            response = client.get(address)
            assert "script-src 'self';" in response["Content-Security-Policy"], name
            if response.status_code == 200 and response["Content-Type"].startswith("text/html"):
                assert outline(response).faults == [], name
                seen += 1
    for address in ALLAUTH:
        assert outline(browser().get(address)).faults == [], address
    assert seen > 20


def test_no_page_has_anything_that_the_content_policy_would_stop(site):
    client = browser(site.ada)
    for address in [*site.addresses(site.ranked).values(), *site.addresses(site.rejected).values(), *ALLAUTH]:
        response = client.get(address)
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            continue
        page = outline(response)
        assert all(attrs.get("src", "").startswith("/static/") for attrs in page.of("script")), address
        assert not page.of("style"), address
        inline = [
            name for _, attrs in page.tags for name in attrs if name == "style" or name.startswith(("on", "hx-on"))
        ]
        assert not inline, address


def test_the_policy_stands_on_errors_and_on_other_apps_pages(client, db):
    for address in ("/nothing-here/", "/admin/login/", "/api/v1/nothing", "/static/web/site.css"):
        response = client.get(address)
        response.close()
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("who", ["stranger", "bob"])
def test_what_is_not_for_somebody_is_not_there(site, who):
    client = browser(site.bob if who == "bob" else None)
    for name, address in site.addresses(site.rejected).items():
        if name.startswith("submission") and name not in POST_ONLY:
            assert client.get(address).status_code == 404, name
    for name in ("submission-log", "submission-source", "submission-script"):
        assert client.get(site.addresses(site.ranked)[name]).status_code == 404, name


def test_tables_and_figures_stand_in_columns():
    from django.conf import settings

    css = (settings.STATICFILES_DIRS[0] / "web" / "site.css").read_text()
    rule = next(line for line in css.splitlines() if "tabular-nums" in line)
    assert rule.startswith("table,")
