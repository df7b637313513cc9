"""Uploads while the competition's file is loaded: locks are taken in one order, and nothing is lost."""

from functools import partial

import pytest

from leaderboard.competitions import files
from leaderboard.competitions.models import Competition
from leaderboard.ledger.services import verify
from leaderboard.submissions.services import receive
from tests.leaderboard.cast import SCRIPT, make_user
from tests.leaderboard.competitions.conftest import TEXT
from tests.leaderboard.runs.test_races import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_uploads_and_loads_at_once_all_go_through(file):
    dates = (
        "opens = 2026-01-01T00:00:00Z\ncloses = 2026-02-01T00:00:00+01:00",
        "opens = 2026-02-01T00:00:00Z\ncloses = 2026-03",
    )
    text = TEXT.replace(dates[0], "opens = 2020-01-01T00:00:00Z\ncloses = 2098-01-01T00:00:00Z")
    text = text.replace(dates[1], "opens = 2098-01-01T00:00:00Z\ncloses = 2098-03")
    file.write_text(text)
    files.load(file)
    people = [make_user() for _ in range(12)]
    script = SCRIPT.encode()
    uploads = [
        partial(receive, user=user, competition_slug="spring", phase_slug="one", script=script) for user in people
    ]

    def loads(mine):
        for number in range(6):
            other = file.with_name(f"{mine}.toml")
            other.write_text(text.replace('title = "One"', f'title = "One, {mine} {number}"'))
            files.load(other)

    at_once(*uploads, partial(loads, "a"), partial(loads, "b"))
    assert Competition.objects.get().phases.get(slug="one").submissions.count() == 12
    assert verify().ok
