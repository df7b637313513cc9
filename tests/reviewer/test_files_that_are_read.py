"""Which files a script reads, as two rules share it, and how much looking for them may cost."""

import gc
import time

import libcst
import pytest

from reviewer import Policy, review
from reviewer.files.reads import find_reads
from reviewer.script import Script
from tests.reviewer.scripts import BASELINE

HEAD = "import os, torch, json, time, random\nimport numpy as np\ndef load_for_eval(path, device):\n    return GPT()\n"

WORST = {
    "claims on every line": HEAD + "x = 1  # no environment, no fallback, no network, causal\n" * 3_000,
    "claims in a row": HEAD + "# no environment no environment no environment\n" * 3_000 + "x = os.environ['A']\n",
    "claims in one docstring": HEAD + "def f():\n    '''" + "no env " * 20_000 + "'''\nx = os.environ['A']\n",
    "one clock and many branches": HEAD + "t = time.time()\nif t > 3: x()\n" * 2_000,
    "a host in a chain of names": HEAD
    + "h0 = os.getpid()\n"
    + "".join(f"h{i + 1} = h{i} + h{i}\nif h{i}: x()\n" for i in range(1_200)),
    "a host in helpers that call each other": HEAD
    + "".join(f"def g{i}(h):\n    return " + " + ".join(f"g{j}(h)" for j in range(30)) + "\n" for i in range(30))
    + "if g0(os.getpid()): x()\n",
    "seeds made of seeds": HEAD + "s = 1\n" + "s = s + s\nrandom.seed(s)\n" * 1_500,
    "one reader of many files": HEAD
    + "def g(p):\n"
    + "    json.load(open(p))\n" * 400
    + "".join(f"g(f{i})\n" for i in range(400)),
    "shards without names": HEAD + "def g(p):\n" + "    open(p, 'rb'); np.frombuffer(p)\n" * 1_500,
    "one module again and again": HEAD + "import mine\nx = mine.y\n" * 1_500,
    "strings that are nearly data": HEAD + "".join(f"a{i} = 'aB3dEf7hIj1LmN{i}'\n" for i in range(3_000)),
    "a deep table": HEAD + "t = " + "[" * 90 + "1" + "]" * 90 + "\n" + "u = [[1], [2], [3]]\n" * 2_000,
    "escapes": HEAD + "".join(f"a{i} = '\\x41\\x42\\x43'\n" for i in range(3_000)),
}


@pytest.mark.parametrize("shape", WORST)
def test_the_cost_of_a_small_file_is_bounded_by_its_parse(shape: str) -> None:
    text = WORST[shape]
    review("x = 1\n", isolated=False)  # imports the rules
    gc.collect()
    start = time.process_time()
    libcst.parse_module(text)
    parsed = time.process_time()
    review(text, isolated=False)
    assert time.process_time() - parsed < 60 * (parsed - start) + 0.2


def names(text: str) -> list[str]:
    return [read.name for read in find_reads(Script(text, Policy()))]


def test_the_honest_script_reads_nothing_that_it_has_not_written() -> None:
    assert [r for r in find_reads(Script(BASELINE, Policy())) if r.name] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open('a.json')\n", ["a.json"]),
        ("open('a.json', 'w')\nopen('a.json')\n", []),
        ("from pathlib import Path\n(Path(__file__).parent / 'a.json').read_text()\n", ["a.json", "…/a.json"]),
        ("open('out/a.json')\nopen('/etc/a')\nopen('../a')\n", []),
        ("import os\nopen(os.path.join(x, 'a.json'))\n", ["…/a.json"]),
        ("open(x)\n", [""]),
        ("class C:\n    @property\n    def p(self):\n        return 'a.json'\nopen(C().p)\n", ["a.json"]),
        ("def e(k, d):\n    return d\nopen(e('A', 'x'))\n", ["x"]),
    ],
)
def test_a_read_has_the_name_that_is_known(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_helper_that_hands_out_settings_hands_out_the_file_of_its_own_call_alone() -> None:
    helper = "def e(k, d):\n    return os.environ.get(k, d)\n"
    text = HEAD + helper + "".join(f"v{i} = e('V{i}', 'w{i}')\n" for i in range(30)) + "open(e('LOG', 'l'))\n"
    assert names(text) == ["l"]


def test_a_parameter_is_not_taken_for_the_one_before_it() -> None:
    text = "def read(mode, path):\n    return open(path, mode)\nread('r', '/etc/passwd')\n"
    assert [f.line for f in review(text, isolated=False).findings if f.rule == "D303"] == [3]
