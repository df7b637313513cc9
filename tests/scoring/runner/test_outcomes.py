"""Each end has its own code; every one through the real runner and a real sandbox."""

import pytest

from scoring.outcomes import OUTCOMES
from tests.scoring.runner.stage import MIB, Stage

pytestmark = pytest.mark.sandbox

STEP = "from prepare import *\nrecord_step_boundary(0)\n"

# name -> (script, changes to the job, code, whose doing it is, words that the detail must hold)
ENDS = {
    "a run that saves": (STEP + "save()", {}, "ok", "script", ""),
    "an exception": (STEP + "save()\nraise KeyError('lr')", {}, "crash", "script", "KeyError: 'lr'"),
    "an exit status": ("import sys; sys.exit(3)", {}, "crash", "script", "exit status 3"),
    "a segmentation fault": ("import os; os.kill(os.getpid(), 11)", {}, "crash", "script", "signal 11"),
    "a syntax error": ("def f(:\n", {}, "crash", "script", "SyntaxError"),
    "no checkpoint": (STEP, {}, "no_checkpoint", "script", ""),
    "an empty checkpoint": (STEP + "save(b'')", {}, "no_checkpoint", "script", ""),
    "a hang": (STEP + "while True: pass", {"clock__budget_seconds": 0.6}, "no_checkpoint", "script", ""),
    "a hang after saving": (STEP + "save()\nwhile True: pass", {"clock__budget_seconds": 0.6}, "ok", "script", ""),
    "a hang that ignores SIGTERM": (
        STEP + "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass",
        {"clock__budget_seconds": 0.6},
        "no_checkpoint",
        "script",
        "",
    ),
    "budget spent without a step": (
        "from prepare import *\nimport time\nsave()\nt=time.time()\nwhile time.time() < t + 0.9: pass",
        {"clock__budget_seconds": 0.5, "clock__startup_cap_seconds": 1.5},
        "over_budget",
        "script",
        "",
    ),
    "too much memory": (
        STEP + "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nsave()",
        {"limits__memory_bytes": 100 * MIB},
        "memory_limit",
        "script",
        "",
    ),
    "a file that is too large": (STEP + "save(bytes(9 << 20))", {}, "file_limit", "script", "File too large"),
    "an output folder that is full": (
        STEP + "for i in range(1000): save(bytes(4 << 20), f'out/{i}')",
        {},
        "output_limit",
        "script",
        "",
    ),
    "errors of a full folder swallowed": (
        STEP + "i = 0\nwhile True:\n  i += 1\n  try: save(bytes(4 << 20), f'out/{i}')\n  except OSError: pass",
        {},
        "output_limit",
        "script",
        "",
    ),
    "too many files": (
        STEP + "for i in range(100): save(b'x', f'out/{i}')\nwhile True: pass",
        {},
        "output_limit",
        "script",
        "",
    ),
    "steps without end": (
        STEP + "import prepare\nos.set_blocking(prepare.FIFO, True)\nwhile True: os.write(prepare.FIFO, b'1\\n' * 500)",
        {},
        "contract",
        "script",
        "more than 107,000 times",
    ),
    "noise without end where steps belong": (
        STEP + "import prepare\nos.set_blocking(prepare.FIFO, True)\nwhile True: os.write(prepare.FIFO, bytes(4096))",
        {},
        "contract",
        "script",
        "",
    ),
    "a gigabyte of print": (STEP + "while True: print('x' * 4096)", {}, "log_limit", "script", ""),
    "a fork bomb": (
        STEP + "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        {},
        "process_limit",
        "script",
        "",
    ),
    "threads without end": (
        STEP + "import threading\ne = threading.Event()\nwhile True: threading.Thread(target=e.wait).start()",
        {},
        "process_limit",
        "script",
        "",
    ),
    "a link for a checkpoint": (
        STEP + "import os; os.symlink('/etc/passwd', 'out/final.pt')",
        {},
        "unsafe_checkpoint",
        "script",
        "final.pt is not a plain file",
    ),
    "a link beside the checkpoint": (
        STEP + "save()\nimport os; os.symlink('/etc/passwd', 'out/extra')",
        {},
        "unsafe_checkpoint",
        "script",
        "extra",
    ),
    "a pipe": (STEP + "save()\nimport os; os.mkfifo('out/pipe')", {}, "unsafe_checkpoint", "script", "pipe"),
    "a second name": (
        STEP + "save()\nimport os; os.link('out/final.pt', 'out/b')",
        {},
        "unsafe_checkpoint",
        "script",
        "",
    ),
    "a name with a newline": (
        STEP + "save()\nsave(b'x', 'out/a\\nb')",
        {},
        "unsafe_checkpoint",
        "script",
        "not allowed",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_end_is_named(stage: Stage, name: str) -> None:
    script, changes, code, owner, words = ENDS[name]
    result = stage.run(script, **changes)
    assert result.exit_code == 0, result.stderr
    assert (result.code, result.receipt["exit"]["owner"]) == (code, owner)
    assert words in result.detail
    assert (result.receipt["checkpoint_sha256"] is not None) == (code == "ok")


OWNERS = {
    "script": {
        *("ok", "crash", "over_budget", "no_checkpoint", "memory_limit", "output_limit", "file_limit", "log_limit"),
        *("process_limit", "unsafe_checkpoint", "load_failed", "wrong_shape", "nonfinite", "eval_timeout"),
        *("model_crashed", "contract", "bad_metric", "breach"),
    },
    "team": {"cancelled"},
    "platform": {"host_fault", "host_full", "contention", "lost"},
}


def test_every_code_says_whose_doing_it_was() -> None:
    for owner, codes in OWNERS.items():
        assert {code for code, outcome in OUTCOMES.items() if outcome.owner == owner} == codes
    assert set(OUTCOMES) == set().union(*OWNERS.values())
    for code, outcome in OUTCOMES.items():
        assert outcome.code == code
        assert outcome.sentence.endswith(".")


def test_a_full_log_keeps_its_first_bytes_and_no_more(stage: Stage) -> None:
    result = stage.run("while True: print('y' * 1000)", limits__log_bytes=5000)
    assert result.code == "log_limit"
    assert len(result.log) == 5000
    assert result.receipt["log"]["truncated"] is True


def test_a_sparse_file_is_refused_by_its_apparent_size(stage: Stage) -> None:
    result = stage.run(
        STEP + "save()\nimport os\nfor n in 'ab': os.truncate(os.open('out/' + n, os.O_CREAT | os.O_RDWR), 100 << 20)",
        limits__file_bytes=200 * MIB,
    )
    assert (result.code, result.detail) == ("unsafe_checkpoint", "the files are larger than the output limit")


def test_the_traceback_shows_the_script_and_not_the_launcher(stage: Stage) -> None:
    result = stage.run("import os\nos.chdir('/')\ndef f():\n    raise ValueError('deep')\nf()\n")
    assert result.code == "crash"
    assert "raise ValueError('deep')" in result.detail
    assert "launch.py" not in result.detail
