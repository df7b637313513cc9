"""What every test of the platform needs from its database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.core.management.commands import flush
from django.db import connection
from django.test import override_settings

from leaderboard.ledger import triggers

# A busy machine fails no test: Hypothesis measures time on its own account otherwise.
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Keep the test database in a file: SQLite in memory has table locks that no real site has."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(Path(settings.HOME) / "test.sqlite3")


@pytest.fixture(scope="session", autouse=True)
def site_is_light() -> Iterator[None]:
    """Let each of many accounts and requests cost little; how a password is hashed is not ours to test."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def ledger_is_emptied_between_tests() -> Iterator[None]:
    """Let the flush behind transactional tests empty the ledger, which refuses that to everybody else."""
    plain = flush.Command.handle

    def handle(self: flush.Command, **options: Any) -> None:
        triggers.drop(connection)
        try:
            plain(self, **options)
        finally:
            triggers.create(connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush.Command, "handle", handle)
        yield
