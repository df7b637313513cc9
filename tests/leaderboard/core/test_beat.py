"""The reaper's rhythm goes on after the clock was put back."""

import pickle
from datetime import UTC, datetime, timedelta

import pytest

from leaderboard.celery import app
from leaderboard.core.beat import Every

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def every(seconds: float) -> Every:
    return Every(seconds, nowfun=lambda: NOW, app=app)


@pytest.mark.parametrize(
    ("ago", "due", "following"),
    [(0, False, 2), (1.5, False, 0.5), (2, True, 2), (3600, True, 2), (-3600, True, 2), (-90 * 86400, True, 2)],
)
def test_it_is_due_after_its_interval_and_when_the_last_time_is_yet_to_come(
    ago: float, due: bool, following: float
) -> None:
    assert every(2).is_due(NOW - timedelta(seconds=ago)) == (due, pytest.approx(following))


def test_it_is_what_beat_is_given_and_finds_again_in_its_file() -> None:
    given = app.conf.beat_schedule["reap"]["schedule"]
    assert isinstance(given, Every)
    kept = pickle.loads(pickle.dumps(given))  # noqa: S301 our own
    assert isinstance(kept, Every)
    assert kept == given
