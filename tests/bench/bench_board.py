"""A board against one pass of SQL over the scores of all its runs, in one process and one run.

A hundred teams with 106 versions of eight runs each, every version a script of 6 kB. The pass joins scores, runs and
submissions and averages them, which is the least that a board made without stored means would cost; the board has its
intervals, compute, probes and ledger entries besides.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

TEAMS, VERSIONS, RUNS = 100, 106, 8
ROUNDS = 9
ONE_PASS = """
    SELECT submission.team_id, submission.id, AVG(score.published_bpb)
    FROM runs_score score
    JOIN runs_run run ON run.id = score.run_id
    JOIN submissions_submission submission ON submission.id = run.submission_id
    WHERE submission.phase_id = %s AND submission.state = 'ranked' AND score.shard = 'public'
    GROUP BY submission.team_id, submission.id
"""


def run() -> list[tuple[str, float, str]]:
    """Measure on SQLite and on PostgreSQL, each in a process of its own."""
    rows = []
    for name, servers in (("SQLite", "embedded"), ("PostgreSQL", "servers")):
        environ = {**os.environ, "TEST_ON": servers}
        words = [sys.executable, "-m", "tests.bench.bench_board"]
        said = subprocess.run(words, env=environ, check=True, capture_output=True, text=True).stdout.split()
        ratio, ours, theirs, runs = (float(word) for word in said[-4:])
        note = f"median of {ROUNDS}, {runs:,.0f} runs, {ours * 1e3:.1f} ms to {theirs * 1e3:.1f} ms, limit 1"
        rows.append((f"board / one pass over its runs, {name}", ratio, note))
    return rows


def fill() -> Any:
    """Return a phase with its ranked versions and their runs."""
    from django.db import transaction

    from leaderboard.ledger.models import Entry
    from leaderboard.runs.models import Attempt, Run, Score
    from leaderboard.submissions.models import State, Submission
    from tests.leaderboard.cast import SCRIPT, later, make_competition, make_team, make_user

    demo = make_competition(runs=RUNS, advance=10)
    phase, policy, now = demo.phases.get(), demo.policies.get(), later()
    with transaction.atomic():
        teams = [make_team(demo, make_user(f"person-{number}")) for number in range(TEAMS)]
        script = SCRIPT.encode() * 7
        spec = {"launcher": "python", "processes": 1, "env": {}, "args": []}
        Submission.objects.bulk_create(
            Submission(
                phase=phase,
                team=team,
                version=version,
                kit=demo.kit,
                policy=policy,
                script=script + b"#" * (version % 7),
                script_sha256=f"{number * VERSIONS + version:064x}",
                launch="python train.py",
                launch_spec=spec,
                state=State.RANKED,
                changed=now,
                mean_bpb=_bpb(number, version, 0),
                sd_bpb=0.001,
                n_scores=RUNS,
                ranked_at=now,
            )
            for number, team in enumerate(teams)
            for version in range(1, VERSIONS + 1)
        )
        sent = list(Submission.objects.order_by("pk").values_list("pk", "version"))
        Run.objects.bulk_create(
            Run(submission_id=pk, index=index, seed=index, state="scored", charged_seconds=59.5)
            for pk, _ in sent
            for index in range(RUNS)
        )
        Entry.objects.bulk_create(
            Entry(seq=seq, at="", kind="submission.ranked", subject=f"submission:{pk}", data="{}", hash=f"{seq:064x}")
            for seq, (pk, _) in enumerate(sent, 10**6)
        )
        runs = list(Run.objects.order_by("pk").values_list("pk", "index"))
        Attempt.objects.bulk_create(
            Attempt(run_id=pk, kind="score", shard="public", number=1, state="finished") for pk, _ in runs
        )
        attempts = dict(Attempt.objects.values_list("run_id", "pk"))
        Score.objects.bulk_create(
            Score(
                run_id=pk,
                shard="public",
                attempt_id=attempts[pk],
                total_nats=1e5,
                num_bytes=150_000,
                num_tokens=62_000,
                bpb=_bpb(pk % TEAMS, pk % VERSIONS, index),
                published_bpb=_bpb(pk % TEAMS, pk % VERSIONS, index),
                power=1,
                drawn_evenly=True,
            )
            for pk, index in runs
        )
    return type(phase).objects.select_related("competition").get(pk=phase.pk)


def measure() -> tuple[float, float, float, int]:
    """Return the ratio of alternating pairs, both medians in seconds, and how many runs there are."""
    from django.db import connection

    from leaderboard.runs.models import Run
    from leaderboard.standings.queries import board

    phase = fill()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    def one_pass() -> int:
        with connection.cursor() as cursor:
            cursor.execute(ONE_PASS, [phase.pk])
            return len(cursor.fetchall())

    assert len(board(phase).rows) == TEAMS
    assert one_pass() == TEAMS * VERSIONS
    ours, theirs = [], []
    gc.collect()
    for _ in range(ROUNDS):
        theirs.append(_seconds(one_pass))
        ours.append(_seconds(lambda: board(phase)))
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    return ratio, statistics.median(ours), statistics.median(theirs), Run.objects.count()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _bpb(team: int, version: int, index: int) -> float:
    return 1.5 + team / 1000 + (version * 37 % VERSIONS) / 400 + index / 10_000


def main() -> None:
    import tests.state  # noqa: F401 - a state folder of its own, and servers where they are asked for

    os.environ["DJANGO_SETTINGS_MODULE"] = "leaderboard.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    print(*measure())


if __name__ == "__main__":
    main()
