"""A wall clock that is set while the site runs, by an hour, forward or back.

Leases, deadlines and offers are moments of the wall clock, and whoever looks at them compares with the wall clock. So
each round of the reaper reads beside it the seconds since the machine was started, which nobody sets, and keeps what
lies between the two. Where that has changed since the last round, the clock was set, and by how much:

    forward   nobody is late by it: the round leaves every host one more lease to be heard (leases.py), and the hour
              does not count among those that an attempt may last
    back      what lies further ahead than it is long is pulled back to now and its own length, once; otherwise a dead
              host's attempt, a lost message and a killed audit would be waited for an hour longer

After a restart of the machine, or with reapers on several, only a clock that went back is seen: its last round is yet
to come. What has happened keeps the time at which it was written down. What is charged comes from the runner's
own monotonic clock and knows nothing of this; quota and phases go by the wall clock, right or wrong: an upload is
booked in the window that the clock shows, and stays there.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from django.db.models import F

from leaderboard.env import env
from leaderboard.runs.models import Attempt, Round
from leaderboard.submissions.deadlines import pull_back

log = logging.getLogger(__name__)
NOTHING = timedelta(0)
TOLERANCE = timedelta(seconds=1)  # a clock that is steered moves far less from round to round


@dataclass(frozen=True)
class Reading:
    """The wall clock, and how far it is from the machine's start (seconds), of which machine's start."""

    now: datetime
    offset: float
    boot: str

    @classmethod
    def at(cls, now: datetime) -> "Reading":
        """Read the other clock for a wall clock that was just read."""
        return cls(now, now.timestamp() - time.clock_gettime(time.CLOCK_BOOTTIME), _boot())

    def jumped_since(self, last: Round) -> timedelta:
        """Return by how much the wall clock was set since a round; zero for a change that is none."""
        if last.boot == self.boot and last.offset is not None:
            jump = timedelta(seconds=self.offset - last.offset)
            return jump if abs(jump) > TOLERANCE else NOTHING
        behind = self.now - last.at
        return behind if behind < -timedelta(seconds=env().lease_seconds) else NOTHING


def set_right(now: datetime, jump: timedelta) -> None:
    """Move what waits to where it would be, had the clock always shown this time."""
    log.warning("the clock was set by %+.1f s", jump.total_seconds())
    leased = Attempt.objects.filter(state=Attempt.State.LEASED)
    if jump > NOTHING:
        leased.filter(leased_at__lte=now - jump).update(leased_at=F("leased_at") + jump)
        return
    pull_back(now)  # first: whoever holds a submission's row may be about to change its attempts
    longest = now + timedelta(seconds=env().lease_seconds)
    leased.filter(lease_until__gt=longest).update(lease_until=longest)
    leased.filter(leased_at__gt=now).update(leased_at=now)
    Attempt.objects.filter(state=Attempt.State.WAITING, sent_at__gt=now).update(sent_at=now)


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
