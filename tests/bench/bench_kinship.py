"""A fingerprint against `libcst.parse_module` of the same text, and kin among ten thousand against comparing with each.

The second is on SQLite and on PostgreSQL: a hundred teams with a hundred versions each, every version with as many
marks as one may have, nine tenths of them shared by ten teams.
"""

from __future__ import annotations

import ast
import gc
import os
import random
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import libcst

from reviewer.similarity import MOST_MARKS, Fingerprint, fingerprint_of, share
from tests.bench.bench_audit import script

TEAMS, VERSIONS = 100, 100
ROUNDS = 5


def run() -> list[tuple[str, float, str]]:
    """Measure both, the databases each in a process of its own."""
    text = script(layers=80)
    gc.disable()
    ratios = []
    for _ in range(ROUNDS):
        parse = _seconds(lambda: libcst.parse_module(text), time.process_time)
        ratios.append(_seconds(lambda: fingerprint_of(ast.parse(text)), time.process_time) / parse)
    gc.enable()
    note = f"median of {ROUNDS}, {text.count(chr(10)):,} lines, limit 0.5"
    rows = [("fingerprint / parse_module", statistics.median(ratios), note)]
    for name, servers in (("SQLite", "embedded"), ("PostgreSQL", "servers")):
        environ = {**os.environ, "TEST_ON": servers}
        words = [sys.executable, "-m", "tests.bench.bench_kinship"]
        said = subprocess.run(words, env=environ, check=True, capture_output=True, text=True).stdout.split()
        ratio, ours, theirs, count = (float(word) for word in said[-4:])
        note = f"median of {ROUNDS}, {count:,.0f} kept, {ours * 1e3:.0f} ms to {theirs * 1e3:.0f} ms, limit 0.1"
        rows.append((f"kin of one / comparing with each, {name}", ratio, note))
    return rows


@cache
def family_of(number: int) -> frozenset[int]:
    """Return nine tenths of a full fingerprint."""
    drawn = random.Random(number)  # noqa: S311 - the same each time
    return frozenset(drawn.getrandbits(61) for _ in range(MOST_MARKS * 9 // 10))


def marks_of(team: int, version: int) -> tuple[int, ...]:
    """Return the marks of a version: nine of ten are its family's, which ten teams share, the rest its own."""
    drawn = random.Random(f"{team}/{version}")  # noqa: S311 - the same each time
    return tuple(sorted(family_of(team % 10) | {drawn.getrandbits(61) for _ in range(MOST_MARKS // 10)}))


def fill() -> Any:
    """Return a submission that is about to be compared with ten thousand."""
    from django.db import connection, transaction

    from leaderboard.accounts.models import User
    from leaderboard.submissions import models
    from reviewer.similarity import INDEXED
    from tests.leaderboard.cast import SCRIPT, later, make_competition, make_team

    demo = make_competition()
    phase, policy, now = demo.phases.get(), demo.policies.get(), later()
    spec = {"launcher": "python", "processes": 1, "env": {}, "args": []}
    with transaction.atomic():
        people = [User.objects.create(username=f"p{n}", email=f"p{n}@example.org") for n in range(TEAMS)]
        teams = [make_team(demo, person) for person in people]
        models.Submission.objects.bulk_create(
            models.Submission(
                phase=phase,
                team=team,
                version=version,
                kit=demo.kit,
                policy=policy,
                script=SCRIPT.encode() * 7,
                script_sha256=f"{number * VERSIONS + version:064x}",
                launch="python train.py",
                launch_spec=spec,
                changed=now,
            )
            for version in range(VERSIONS)
            for number, team in enumerate(teams)
        )
        sent = list(models.Submission.objects.order_by("pk"))
        drawn = [(each.pk, marks_of(at % TEAMS, each.version)) for at, each in enumerate(sent)]
        models.Fingerprint.objects.bulk_create(
            models.Fingerprint(
                submission_id=pk, code_sha256=f"{pk:064x}", marks=struct.pack(f">{len(marks)}Q", *marks), linked=True
            )
            for pk, marks in drawn
        )
        with connection.cursor() as cursor:
            insert = "INSERT INTO submissions_mark (competition_id, submission_id, value) VALUES (%s, %s, %s)"
            cursor.executemany(insert, [(demo.pk, pk, mark) for pk, marks in drawn for mark in marks[:INDEXED]])
    return sent[-1]


def measure() -> tuple[float, float, float, int]:
    """Return the ratio of alternating pairs, both medians in seconds, and how many fingerprints there are."""
    from django.db import connection

    from leaderboard.submissions import kinship
    from leaderboard.submissions.models import Fingerprint as Kept
    from leaderboard.submissions.models import Kin

    submission = fill()
    made = Fingerprint("f" * 64, marks_of(TEAMS - 1, VERSIONS - 1))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    def find() -> None:
        Kin.objects.all().delete()
        kinship.link(submission, made)

    def compare_with_each() -> None:
        alike = [share(made.marks, kinship.numbers(marks)) for marks in Kept.objects.values_list("marks", flat=True)]
        assert len(alike) == TEAMS * VERSIONS

    find()
    assert Kin.objects.count() == 2 * kinship.KEPT
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(_seconds(compare_with_each, time.perf_counter))
        ours.append(_seconds(find, time.perf_counter))
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    return ratio, statistics.median(ours), statistics.median(theirs), Kept.objects.count()


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


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
