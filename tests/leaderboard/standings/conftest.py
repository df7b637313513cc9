"""Who releases a board, and the host whose scores stand on it."""

import pytest

from leaderboard.accounts.models import User
from tests.leaderboard.cast import make_user
from tests.leaderboard.host import Host


@pytest.fixture
def host() -> Host:
    return Host.register()


@pytest.fixture
def boss() -> User:
    return make_user("boss", organizer=True)
