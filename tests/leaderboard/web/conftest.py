import pytest

from tests.leaderboard.web.site import Site, make_site


@pytest.fixture
def site(transactional_db: None) -> Site:
    """A site whose submissions went the real way; messages are only sent where transactions really commit."""
    return make_site()
