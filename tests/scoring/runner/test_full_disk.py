"""A host whose disk is full: the end is ours, has a name, and leaves nothing behind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.backends.local import LocalRun
from tests.scoring.runner.stage import KEY_SEED, Stage
from tests.smalldisk import WHY_NOT, SmallDisk, may_mount, small_disk

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(not may_mount(), reason=WHY_NOT)]
SAVES = 'from prepare import *\nrecord_step_boundary(0)\nsave(b"w" * 4_000_000)'
FULL = 4


@pytest.fixture
def disk(stage: Stage) -> Iterator[SmallDisk]:
    """The agent's folder of a host, on a disk of its own."""
    folder = stage.home / "agent"
    folder.mkdir()
    with small_disk(folder) as disk:
        yield disk


def left(folder: Path) -> list[str]:
    """Return all that lies in a host's folders of runs and checkpoints."""
    return [str(path) for place in ("runs", "checkpoints") for path in sorted((folder / place).glob("*"))]


@pytest.mark.parametrize(
    "spare", [0, 4096, 16_384, 1_000_000], ids=["nothing", "a folder", "half the inputs", "no checkpoint"]
)
def test_it_is_named_and_nothing_stays(stage: Stage, disk: SmallDisk, spare: int) -> None:
    job = stage.job(SAVES)
    with disk.full(spare):
        result = stage.finish(stage.start(job), job)
        assert (result.exit_code, "No space left" in result.stderr) == (FULL, True), result.stderr
    assert left(disk.folder) == []
    assert stage.run(SAVES).code == "ok"


def test_a_log_that_finds_no_room_ends_the_run(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with small_disk(tmp_path / "logs") as disk:
        job = stage.job('print("x" * 1_000_000)', host__log_path=str(disk.folder / "log"), limits__log_bytes=1 << 22)
        with disk.full(100_000):
            result = stage.finish(stage.start(job), job)
        assert (result.exit_code, len(result.log) >= 98_304) == (FULL, True), "every byte that there was room for"
    assert left(stage.home / "agent") == []


def test_the_agent_hands_in_which_fault_it_was(stage: Stage, disk: SmallDisk) -> None:
    stage.job(SAVES)
    path = stage.home / "job.json"
    path.write_text(json.dumps(stage.last))
    with disk.full():
        run = LocalRun.start(path, KEY_SEED)
        while not run.wait(1):
            pass
    assert run.outcome()["cause"] == "host_full"
    path.write_text("{}")
    run = LocalRun.start(path, KEY_SEED)
    while not run.wait(1):
        pass
    assert "cause" not in run.outcome()
