"""What was found by trying, each through the real runner."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.scoring.runner.stage import Stage

pytestmark = pytest.mark.sandbox

STEP = "from prepare import *\nrecord_step_boundary(0)\n"


def test_before_the_first_steps_only_the_first_data_is_there(stage: Stage) -> None:
    result = stage.run(
        """
        from prepare import *
        import threading
        def shown():
            return visible() + os.listdir(os.path.dirname(CONSTANTS["dev_file"]))
        print(shown(), flush=True)
        threading.Event().wait(0.3)
        print(shown(), flush=True)
        record_step_boundary(0)
        while len(shown()) < 4: pass
        print(shown())
        try: os.rename("/holdout/data/000.bin", "/holdout/data/x")
        except OSError as error: print(error.errno)
        save()
        """.replace("\n        ", "\n")
    )
    assert result.code == "ok", result.log
    gate, late, rest, errno = result.log.splitlines()
    assert gate == late == "['000.bin']"
    assert rest == "['000.bin', '001.bin', '002.bin', 'dev.bin']"
    assert errno == "30"
    assert result.receipt["clock"]["startup"] >= 0.3
    assert result.receipt["clock"]["charged"] == pytest.approx(
        result.receipt["clock"]["end"] - result.receipt["clock"]["startup"], abs=0.001
    )


def test_a_child_that_stops_process_one_does_not_stop_the_clock(stage: Stage) -> None:
    result = stage.run(
        STEP + "import signal\nwhile True:\n  os.kill(1, signal.SIGSTOP)",
        clock__budget_seconds=0.6,
    )
    assert result.code == "no_checkpoint"
    assert result.receipt["clock"]["charged"] < 1.5


def test_sigterm_comes_before_the_deadline_and_saves_the_day(stage: Stage) -> None:
    result = stage.run(
        """
from prepare import *
import signal, sys
def end(signum, frame):
    save(b"late weights"); print("asked to end"); sys.exit(0)
signal.signal(signal.SIGTERM, end)
record_step_boundary(0)
while True: pass
""",
        clock__budget_seconds=1.0,
    )
    assert result.code == "ok"
    assert "asked to end" in result.log
    assert result.receipt["clock"]["charged"] < 1.0


def test_a_script_that_dies_of_sigterm_keeps_its_checkpoint(stage: Stage) -> None:
    result = stage.run(STEP + "save()\nimport signal\nsignal.pause()", clock__budget_seconds=0.8)
    assert result.code == "ok"
    assert 0.4 < result.receipt["clock"]["charged"] < 0.8


def test_a_handler_may_end_with_any_status(stage: Stage) -> None:
    result = stage.run(
        STEP + "import signal, sys\nsave()\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\nsignal.pause()",
        clock__budget_seconds=8.0,
        clock__term_seconds=7.5,
    )
    assert result.code == "ok", result.detail
    assert result.receipt["clock"]["charged"] < 8.0


def test_torchrun_that_trains_until_it_is_asked_to_end_keeps_its_checkpoint(stage: Stage) -> None:
    result = stage.run(
        "import os, signal\nfrom prepare import *\n"
        "if os.environ['RANK'] == '0':\n  record_step_boundary(0); save()\nsignal.pause()",
        launch__launcher="torchrun",
        clock__startup_cap_seconds=30.0,
        clock__budget_seconds=20.0,
        clock__term_seconds=19.5,
        limits__memory_bytes=2 << 30,
        limits__processes=128,
    )
    assert result.code == "ok", result.detail
    assert "SignalException" in result.log
    assert result.receipt["clock"]["charged"] < 20.0  # torchrun ended by itself


def test_a_run_that_is_asked_to_end_without_a_step_has_spent_too_much(stage: Stage) -> None:
    result = stage.run(
        "from prepare import *\nimport signal\nsave()\nsignal.pause()",
        clock__budget_seconds=0.4,
        clock__startup_cap_seconds=0.8,
    )
    assert result.code == "over_budget"


def test_nothing_is_written_after_the_end(stage: Stage) -> None:
    name = f"left-{os.getpid()}"  # other runs of this host are not this test's to count
    result = stage.run(
        STEP
        + f"open('/proc/self/comm', 'w').write({name!r})\n"
        + "import itertools, threading\nsave(b'0')\n"
        + "if os.fork() == 0:\n  os.setsid()\n"
        + "  for n in itertools.count(1): save(b'%d' % n, 'out/next'); os.rename('out/next', 'out/final.pt')\n"
        + "threading.Event().wait(0.3)"
    )
    assert result.code == "ok"
    sealed = stage.checkpoints_dir / result.receipt["checkpoint_sha256"]
    assert int((sealed / "final.pt").read_bytes()) > 0  # the child did write until it was killed
    assert _checkpoint_sha256(sealed) == sealed.name
    assert not [p for p in Path("/proc").glob("[0-9]*/comm") if _is_called(p, name)]
    stage.run(STEP + "save()")  # time passes, and another run takes the same ways
    assert _checkpoint_sha256(sealed) == sealed.name


def _checkpoint_sha256(folder: Path) -> str:
    """The documented rule: sorted lines of name, size and hash."""
    lines = []
    for path in folder.rglob("*"):
        content = path.read_bytes()
        lines.append(f"{path.relative_to(folder)} {len(content)} {hashlib.sha256(content).hexdigest()}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _is_called(comm: Path, name: str) -> bool:
    try:
        return comm.read_text().strip() == name
    except OSError:  # it ended meanwhile
        return False


def test_what_a_run_plants_the_next_one_does_not_find(stage: Stage) -> None:
    plant = (
        STEP
        + "for p in ('/tmp', '/dev/shm', '/work/out'):\n"
        + "  print(p, os.listdir(p)); open(p + '/note', 'w').write('from me')\nsave()"
    )
    for _ in range(2):
        result = stage.run(plant)
        assert result.code == "ok"
        assert result.log.splitlines() == ["/tmp []", "/dev/shm []", "/work/out []"]


def test_a_run_can_be_cancelled(stage: Stage) -> None:
    job = stage.job(STEP + "while True: pass", clock__budget_seconds=30)
    process = stage.start(job)
    assert process.stdout is not None
    seen = [json.loads(process.stdout.readline())]
    while seen[-1]["event"] != "step":
        seen.append(json.loads(process.stdout.readline()))
    process.send_signal(signal.SIGTERM)
    result = stage.finish(process, job)
    assert (result.code, result.receipt["exit"]["owner"]) == ("cancelled", "team")


def test_a_killed_runner_takes_its_sandbox_along_and_the_next_one_cleans_up(stage: Stage) -> None:
    job = stage.job(STEP + "while True: pass", clock__budget_seconds=30)
    process = stage.start(job)
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "step":
        pass
    children = _descendants(process.pid)
    assert len(children) >= 3  # bubblewrap, init, script
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while any(_alive(pid) for pid in children) and time.monotonic() < deadline:
        os.sched_yield()
    assert not [pid for pid in children if _alive(pid)]
    assert [p.name for p in stage.runs_dir.iterdir() if p.is_dir()] == ["r000001.a000001"]
    assert stage.run(STEP + "save()").code == "ok"  # checks that the runs folder is empty


def test_a_starter_that_dies_while_the_runner_imports_takes_it_along(stage: Stage) -> None:
    job = stage.job(STEP + "while True: pass", clock__budget_seconds=30)
    path = stage.home / "job.json"
    path.write_text(json.dumps(job))
    starter = (
        "import os, pathlib, sys\nfrom scoring.backends.local import LocalRun\n"
        "run = LocalRun.start(pathlib.Path(sys.argv[1]), '')\n"
        "print(run.process.pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    out = subprocess.run([sys.executable, "-P", "-c", starter, path], stdout=subprocess.PIPE, text=True, check=False)
    runner = int(out.stdout)
    deadline = time.monotonic() + 20
    while _alive(runner) and time.monotonic() < deadline:
        os.sched_yield()
    assert not _alive(runner)
    assert not stage.runs_dir.exists()  # it never came as far as the job


def _descendants(pid: int) -> list[int]:
    from scoring.sandbox.procs import tree

    return [child for child in tree(pid) if child != pid]


def _alive(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_run_that_loses_its_cpus_to_others_is_repeated_not_ranked(stage: Stage) -> None:
    cpu = str(min(os.sched_getaffinity(0)))  # the first CPU that the stage's own lease folder will lend
    hogs = [
        subprocess.Popen(
            [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{cpu}]); print(flush=True)\nwhile True: pass"],
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    try:
        for hog in hogs:
            assert hog.stdout is not None
            hog.stdout.readline()  # it is eating by now
        result = stage.run(
            STEP + "import time\nt = time.monotonic()\nwhile time.monotonic() < t + 1.6: pass\nsave()",
            clock__minimum_lease_share=0.9,
        )
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()
    assert (result.code, result.receipt["exit"]["owner"]) == ("contention", "platform")
    assert result.receipt["contention"]["lost_share"] > 0.1
    assert result.receipt["checkpoint_sha256"] is None


def test_many_threads_of_its_own_are_not_contention(stage: Stage) -> None:
    result = stage.run(
        STEP
        + "import threading, time\nend = time.monotonic() + 1.0\n"
        + "def spin():\n  while time.monotonic() < end: sum(range(1000))\n"
        + "children = [os.fork() for _ in range(3)]\nspin()\nsave() if 0 not in children else os._exit(0)",
    )
    shares = result.receipt["contention"]
    assert result.code == "ok"
    assert shares["waiting_share"] > 0.5
    assert shares["lost_share"] == min(shares["foreign_share"], shares["waiting_share"])


def test_the_launchers_environment_reaches_nothing_inside(stage: Stage) -> None:
    job = stage.job(STEP + "print(open('/proc/1/environ').read(), dict(os.environ))\nsave()")
    result = stage.finish(stage.start(job, env={**os.environ, "AGENT_KEY": "sealed-word"}), job)
    assert result.code == "ok"
    assert "sealed-word" not in result.log
    assert "AGENT_KEY" not in result.receipt["environment"]


def test_events_come_in_order_and_the_receipt_is_last(stage: Stage) -> None:
    result = stage.run(STEP + "record_step_boundary(1)\nsave()")
    names = [event["event"] for event in result.events]
    assert names[0] == "started"
    assert names[-2:] == ["sealed", "receipt"]
    assert names.index("startup") < names.index("step")
    assert result.receipt["steps"]["count"] == 2


def test_lies_in_the_fifo_are_not_steps(stage: Stage) -> None:
    result = stage.run(
        STEP + "import prepare\nos.write(prepare.FIFO, b'-1\\nnan\\n' + b'9' * 4000 + b'\\n1\\n')\nsave()"
    )
    assert (result.code, result.receipt["steps"]["count"]) == ("ok", 2)
