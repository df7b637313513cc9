"""One platform for all end-to-end tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import platform
from tests.e2e.site import Site
from tests.state import home as state


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with platform(Path(state) / "site") as running:
        yield running
