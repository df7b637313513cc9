"""Findings about native code, hooks, writes, steps and hardware: how severe each is, each place said once."""

import gc
import time

import libcst
import pytest

from reviewer import LaunchFacts, review
from reviewer.rules import load
from tests.reviewer.scripts import BASELINE

MINE = frozenset({"S403", "S405", "S406", "S407", "S408", "C501", "C502", "C503", "C504", "C505"})
CALL = "        record_step_boundary(step)\n"


def said(text: str, launch: LaunchFacts | None = None) -> list[str]:
    report = review(BASELINE + text, isolated=False, launch=launch)
    return [f"{f.rule} {f.severity}" for f in report.findings if f.rule in MINE or f.severity != "info"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import ctypes\nlib = ctypes.CDLL(None)\n", ["S403 review"]),
        ("from torch.utils.cpp_extension import load_inline\nm = load_inline('a', 'int f();')\n", ["S403 review"]),
        ("import sys\nsys.settrace(print)\n", ["S405 reject"]),
        ("x = ().__class__.__base__.__subclasses__()\n", ["S405 reject"]),
        ("def f(a):\n    return f.__code__.co_argcount\n", ["S405 info"]),
        ("import inspect\nprint(inspect.getsource(main))\n", ["S408 info"]),
        ("import inspect, prepare\nprint(inspect.getsource(prepare))\n", ["S405 reject"]),
        ("import atexit, torch.distributed as dist\natexit.register(dist.destroy_process_group)\n", ["S406 info"]),
        ("import atexit\natexit.register(main)\n", ["S406 review"]),
        ("class L:\n    def __del__(self):\n        self.file.close()\n", ["S406 info"]),
        ("open('prepare.py', 'w')\n", ["S407 reject"]),
        ("open('logs/run.txt', 'w')\n", ["S407 warn"]),
        ("open('/etc/x', 'w')\n", ["D303 reject"]),
        ("print(open(__file__).read())\n", ["S408 info"]),
        ("import prepare\nprepare.TRAIN_TIME_BUDGET_SECONDS = 1e9\n", ["C503 reject"]),
        ("torch.set_num_threads(1)\n", ["C504 info"]),
        (
            "def setup():\n    torch.set_float32_matmul_precision('high')\nif __name__ == '__main__':\n    setup()\n",
            ["C505 info"],
        ),
    ],
)
def test_each_place_is_said_once_and_as_severely_as_it_is(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_what_the_launch_command_starts_decides_about_devices() -> None:
    text = "torch.cuda.set_device(0)\n"
    assert said(text, LaunchFacts("python", 1)) == []
    assert said(text, LaunchFacts("torchrun", 8)) == ["C504 reject"]


@pytest.mark.parametrize(
    "change",
    [
        "        if step % 10 == 0:\n            record_step_boundary(step)\n",
        CALL + CALL,
        "        record_step_boundary(0)\n",
        "",
    ],
)
def test_a_step_is_reported_once_or_the_script_is_refused(change: str) -> None:
    report = review(BASELINE.replace(CALL, change), isolated=False)
    assert [f.rule for f in report.findings if f.severity == "reject"] == ["C501"]


LOOP = "from prepare import record_step_boundary\nfor s in range(9):\n    opt.step()\n"
WORST = {
    "boundaries": LOOP + "    record_step_boundary(s)\n" * 500,
    "steps and boundaries": LOOP + "    opt.step()\n    record_step_boundary(s)\n" * 500,
    "ways past a boundary": LOOP + "    if a: continue\n" * 700 + "    record_step_boundary(s)\n",
    "helpers that report for each other": LOOP
    + "    g0(s)\n"
    + "".join(
        f"def g{i}(k):\n" + "".join(f"    g{j}(k)\n" for j in range(25)) + "    record_step_boundary(k)\n"
        for i in range(25)
    ),
    "clocks in many scopes": "import time\n"
    + "".join(f"def f{i}():\n    time = X()\n    time.time()\n" for i in range(500)),
    "bridges to native code": "import ctypes\n" * 500 + "ctypes.c_int\n" * 500,
    "work for the end": "import atexit\ndef f():\n" + "    x.close()\n" * 700 + "atexit.register(f)\n" * 500,
    "a helper full of variables": "import os\ndef put(k, v):\n"
    + "    os.environ[k] = v\n" * 400
    + "put('CUDA_VISIBLE_DEVICES', '0')\n" * 400,
    "a helper full of writes": "def g(p):\n    return open(p, 'w')\n"
    + "".join(f"def f{i}(p): g(p)\nf{i}('a{i}')\n" for i in range(250)),
}


@pytest.mark.parametrize("shape", WORST)
def test_the_cost_of_a_small_file_is_bounded_by_its_parse(shape: str) -> None:
    text = WORST[shape]
    load()
    gc.collect()
    start = time.process_time()
    libcst.parse_module(text)
    parsed = time.process_time()
    review(text, isolated=False)
    assert time.process_time() - parsed < 60 * (parsed - start) + 0.2
