from pathlib import Path

import pytest

from tests.scoring.runner.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A host of its own for each test."""
    return Stage(tmp_path)
