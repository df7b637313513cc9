"""A wall clock that is set during a run: the run is as long as it was, only its start is told by that clock."""

import ast
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

import scoring
from tests.scoring.runner.stage import Stage

# The runner, on whose host the clock is set while the script trains.
SET = """
import sys, time
real, began = time.time, time.monotonic()
time.time = lambda: real() + {by} * (time.monotonic() > began + 1)
from scoring import runner
sys.exit(runner.main(sys.argv[1:]))
"""
TRAINS = """
from prepare import record_step_boundary, save
import time
for step in range(1_000_000):
    record_step_boundary(step)
    save()
    time.sleep(0.01)
"""
WALL = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}


@pytest.mark.sandbox
@pytest.mark.parametrize("by", [3600, -3600])
def test_what_is_charged_comes_from_a_clock_that_nobody_sets(stage: Stage, by: int) -> None:
    job = stage.job(TRAINS)
    before = datetime.now(UTC)
    result = stage.finish(stage.start(job, program=("-c", SET.format(by=by))), job)
    clock, budget = result.receipt["clock"], job["clock"]["budget_seconds"]
    assert result.code == "ok", result.detail
    assert budget - 0.5 < clock["charged"] < budget + 5
    assert 0 <= clock["startup"] <= job["clock"]["startup_cap_seconds"]
    assert result.receipt["steps"]["median_seconds"] < 5
    assert all(0 <= seconds < 60 for seconds, *_ in result.receipt["resources"]["series"])
    off = (datetime.fromisoformat(clock["started_at"]) - before).total_seconds() - by
    assert 0 <= off < 60


def test_nothing_else_here_asks_the_wall_clock() -> None:
    package = Path(scoring.__file__).parent
    asked: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        asked[path.relative_to(package).as_posix()] += sum(ast.unparse(call.func) in WALL for call in calls)
    assert +asked == {"training.py": 1, "evaluating.py": 1}, "for `started_at`, which nothing is computed from"
