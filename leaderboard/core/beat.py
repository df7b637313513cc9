"""A rhythm that a clock which is put back does not break.

Celery's own waits until the clock has come to where the last time was, and one interval more: an hour without a
reaper after a clock that was an hour ahead is set right.
"""

from datetime import datetime, timedelta

from celery.schedules import schedule


class Every(schedule):  # type: ignore[misc]  # Celery has no types
    """Due every so many seconds, and at once when the last time seems yet to come."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Return how long it is until the next time."""
        left: timedelta = super().remaining_estimate(last_run_at)
        return left if left <= self.run_every else timedelta(0)
