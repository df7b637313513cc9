"""A phase: its state by the clock, and its quota windows in its own zone."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from leaderboard.competitions.models import Phase
from leaderboard.competitions.spec import PhaseSpec

OPENS, CLOSES = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("now", "state"),
    [(OPENS - TICK, "upcoming"), (OPENS, "open"), (CLOSES - TICK, "open"), (CLOSES, "closed")],
)
def test_a_phase_is_open_from_its_first_moment_until_before_its_last(now, state):
    assert Phase(opens=OPENS, closes=CLOSES).state(now) == state


def window(now: str, per: str = "day", zone: str = "Europe/Berlin") -> tuple[str, str]:
    spec = PhaseSpec.model_validate({"budget": {"seconds": 1}, "timezone": zone, "quota": {"per": per}})
    start, end = spec.quota_window(datetime.fromisoformat(now))
    return f"{start:%m-%d %H:%M}", f"{end:%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("now", "start", "end"),
    [
        ("2026-01-15T12:00Z", "01-14 23:00", "01-15 23:00"),
        ("2026-01-15T22:59:59Z", "01-14 23:00", "01-15 23:00"),
        ("2026-01-15T23:00Z", "01-15 23:00", "01-16 23:00"),
        ("2026-03-29T12:00Z", "03-28 23:00", "03-29 22:00"),  # clocks go forward: 23 hours
        ("2026-10-25T12:00Z", "10-24 22:00", "10-25 23:00"),  # and back: 25 hours
    ],
)
def test_a_day_is_cut_at_the_zones_midnight(now, start, end):
    assert window(now) == (start, end)


def test_a_week_begins_on_monday():
    assert window("2026-01-18T12:00Z", "week", "UTC") == ("01-12 00:00", "01-19 00:00")
    assert window("2026-01-19T00:00Z", "week", "UTC") == ("01-19 00:00", "01-26 00:00")


def test_rules_are_read_from_the_row_and_a_row_without_them_is_a_fault():
    spec = PhaseSpec.model_validate({"budget": {"seconds": 2}, "runs": 3})
    assert Phase(spec=spec.model_dump(mode="json")).rules == spec
    with pytest.raises(ValidationError):
        Phase(spec={}).rules  # noqa: B018 - reading it is the test


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 0])
def test_a_budget_is_a_positive_finite_number(value):
    with pytest.raises(ValidationError):
        PhaseSpec.model_validate({"budget": {"seconds": value}})
