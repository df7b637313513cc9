import os
import signal
import subprocess
from pathlib import Path

import pytest

from scoring.sandbox import cgroups, runfolder
from scoring.sandbox.spec import SandboxError


@pytest.mark.parametrize("bad", ["", "..", "a/b", "r1 2", "R0001", "r", "r" * 65, "r001\n", ".r001", "-r001"])
def test_an_odd_id_is_refused_before_anything_is_made(tmp_path: Path, bad: str) -> None:
    runs = tmp_path / "runs"
    for ids in ((bad, "a001"), ("r001", bad)):
        with pytest.raises(ValueError, match="not an id"), runfolder.fresh(runs, *ids):
            pass
    assert not runs.exists()


@pytest.mark.parametrize("runs", [Path("/"), Path(""), Path("runs")])
def test_a_collapsed_runs_folder_is_refused(runs: Path) -> None:
    with pytest.raises(ValueError, match="absolute"), runfolder.fresh(runs, "r001", "a001"):
        pass


def test_the_folder_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with runfolder.fresh(tmp_path, "r001", "a001") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "x").mkdir()
        (folder / "x").chmod(0o500)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_must_not_exist_yet(tmp_path: Path) -> None:
    (tmp_path / "r001.a001").mkdir()
    (tmp_path / "r001.a001" / "note").write_text("from an earlier run")
    with pytest.raises(SandboxError, match="exists already"), runfolder.fresh(tmp_path, "r001", "a001"):
        pass
    assert (tmp_path / "r001.a001" / "note").exists()


def test_one_attempt_runs_once_at_a_time(tmp_path: Path) -> None:
    with (
        runfolder.fresh(tmp_path, "r001", "a001"),
        pytest.raises(SandboxError, match="running already"),
        runfolder.fresh(tmp_path, "r001", "a001"),
    ):
        pass


def test_two_state_folders_never_share_a_sandboxs_name(tmp_path: Path) -> None:
    names = {runfolder.sandbox_name(tmp_path / home / "r001.a001", "train") for home in ("a", "b")}
    assert len(names) == 2
    assert all(name.startswith("r001.a001.") for name in names)


def test_the_sweep_takes_what_the_dead_left_and_leaves_the_living(tmp_path: Path) -> None:
    (tmp_path / "r001.a001").mkdir()
    (tmp_path / ".r001.a001.lock").touch()
    (tmp_path / "unrelated").mkdir()
    with runfolder.fresh(tmp_path, "r002", "a002") as living:
        assert runfolder.sweep(tmp_path) == ["r001.a001"]
        assert living.is_dir()
    assert os.listdir(tmp_path) == ["unrelated"]


def test_clearing_takes_everything_but_a_living_run(tmp_path: Path) -> None:
    closed = tmp_path / "r001.a001" / "inputs"
    closed.mkdir(parents=True)
    (closed / "script").touch()
    closed.chmod(0o555)
    (tmp_path / "r003.a003").mkdir()  # its lock is gone
    (tmp_path / ".r001.a001.lock").touch()
    (tmp_path / "stray").touch()
    (tmp_path / "way-out").symlink_to(tmp_path.parent)
    with runfolder.fresh(tmp_path, "r002", "a002"):
        runfolder.clear(tmp_path)
        assert sorted(os.listdir(tmp_path)) == [".r002.a002.lock", "r002.a002"]
    assert tmp_path.parent.is_dir()
    runfolder.clear(tmp_path / "never-made")


def test_clearing_ends_what_a_killed_runner_left_frozen(tmp_path: Path) -> None:
    folder = tmp_path / "r001.a001"
    folder.mkdir()
    group = cgroups.create(
        runfolder.sandbox_name(folder, "train"), memory_bytes=1 << 28, processes=4, cpus=(min(os.sched_getaffinity(0)),)
    )
    if not group.folders:
        pytest.skip("this host lends no control groups")
    left = subprocess.Popen(["/bin/sleep", "600"])
    group.add(left.pid)
    group.freeze(True)
    try:
        runfolder.clear(tmp_path)
        assert left.poll() == -signal.SIGKILL
    finally:
        group.freeze(False)
        left.kill()
        left.wait()
    assert not [folder for folder in group.folders.values() if folder.exists()]
    assert os.listdir(tmp_path) == []
