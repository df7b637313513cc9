"""A database from before there were probes: what was scored is what was published, and nothing was hidden."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from leaderboard.runs.models import Attempt, Score
from leaderboard.standings.queries import board
from tests.leaderboard.cast import make_competition
from tests.leaderboard.hidden import rank
from tests.leaderboard.host import Host

pytestmark = pytest.mark.django_db(transaction=True)


def migrate(*names):
    executor = MigrationExecutor(connection)
    executor.migrate([("runs", name) for name in names])


def test_older_scores_are_published_as_they_were_scored():
    submission = rank(Host.register(), make_competition(), 2.25)
    newest = [name for app, name in MigrationExecutor(connection).loader.graph.leaf_nodes() if app == "runs"]
    try:
        migrate("0003_rounds")
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM runs_score")
            assert "published_bpb" not in [column[0] for column in cursor.description]
    finally:
        migrate(*newest)
    score = Score.objects.get()
    assert (score.published_bpb, score.correction, score.power) == (score.bpb, None, None)
    assert not Attempt.objects.filter(hidden=True).exists()
    (row,) = board(submission.phase).rows
    assert (row.bpb, row.probe_power, row.probes_drawn) == (2.25, None, "")
