"""What a repair writes is what Python had made of it: both texts are run, and come to the same values.

These are our own small texts, which only read and convert; each runs in an interpreter with an empty environment.
"""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewer import fix
from reviewer.repairs.folding import literal

HELPERS = '''import os
from dataclasses import dataclass, field
def raw(k, d=None):
    return os.environ.get(k, d)
def env(k, d):
    v = raw("P_" + k)
    if v is None:
        return d
    return type(d)(v)
def flag(name, default="0"):
    return raw(name, default).strip().lower() in ("1", "true", "yes")
def num(k, d, t=float):
    """A number."""
    try:
        return t(os.environ[k])
    except KeyError:
        return t(d)
def either(a, b, d):
    return os.environ.get(a, os.environ.get(b, d))
def opt(k):
    v = os.environ.get(k, "")
    return int(v) if v else None
def lst(k, d):
    return [int(x) for x in os.environ.get(k, d).split(",") if x]
empty = []
full = [1]
'''
USED = (
    "\nprint(a if 'a' in dir() else 0, b if 'b' in dir() else 0, raw, env, flag, num, either, opt, lst, empty, full)\n"
)
READS = [
    'bool(int(os.environ.get("A", "1")))',
    'os.environ.get("A", "TRUE").lower() in ("1", "true")',
    'os.environ.get("A", "0") != "1"',
    'float(os.environ.get("A", "0")) or None',
    'os.environ.get("A", os.environ.get("B", "3"))',
    'int(os.environ.get("A", os.environ.get("B", "3")))',
    '{k: int(os.environ.get(k, "7")) for k in ("A", "B")}',
    '[os.environ.get(k, "7") for k in ("A", "B")]',
    "f\"{os.environ.get('A', 'x')}-{int(os.environ.get('B', '3')):03d}\"",
    "f\"{os.environ.get('A')!r} {'A' in os.environ}\"",
    '(lambda x=os.environ.get("A", "1"): x)()',
    'tuple(map(int, os.environ.get("A", "1,2").split(",")))',
    'int(float(os.environ.get("A", "1e3")))',
    'int(os.environ.get("A", "0x10"), 16)',
    '-float(os.environ.get("A", "-3"))',
    '2 ** -int(os.environ.get("A", "-1"))',
    'float(os.environ.get("A", "inf"))',
    'float(os.environ.get("A", 5))',
    'int(os.environ.get("A", 5.7))',
    'int(os.environ.get("A", " 5 "))',
    'bool(os.environ.get("A", "0"))',
    'os.environ.get("A") or os.environ.get("B") or "c"',
    '1 if os.environ.get("A") else 2 if os.environ.get("B", "1") else 3',
    '(os.environ.get("A") or "5") * 2',
    'os.environ.get("A", "abc")[::-1]',
    'os.environ.get("A", \'it\\\'s "q"\\t\')',
    'os.environ.get("A", (1, 2))',
    'int(os.environ.get("A", str(4 * 1024)))',
    'os.environ.pop("A", None)',
    'os.getenv(key="A", default="d")',
    'int(os.environ.setdefault("A", "5"))',
    'env("A", True)',
    'env(k="A", d=-2)',
    'flag(name="A", default="Yes")',
    'num("A", "7", t=int)',
    'int(either("A", "B", 4))',
    'opt("A") or 7',
    'lst("A", "")',
    '[env("A", 1), *lst("B", "2")]',
    'env("A", env("B", 2))',
    'env("A", 1) if flag("B") else env("C", 2)',
    'raw("A", "10").zfill(5)',
    '"%s" % raw("A", "z")',
    'int(raw("A", "3")) < 5 < int(raw("B", "7"))',
    'abs(int(raw("A", "-3"))) + round(float(raw("A", "2.567")), 1)',
    'sorted(set(raw("A", "b,a").split(",")))',
    'empty and raw("A", "1") == "1"',
    'full or raw("A", "0") == "1"',
    'full and raw("A", "1") == "1"',
    'raw("A", "1") == "1" and full',
    '(raw("A", "0") == "1" or full) and empty',
]
BLOCKS = [
    'if "A" in os.environ:\n    a = int(os.environ["A"])\nelse:\n    a = 5',
    'a = 3\nif os.environ.get("A") is not None:\n    a = int(os.environ["A"])\nelif flag("B", "1"):\n    a = 4\n',
    '@dataclass\nclass C:\n    x: int = int(os.environ.get("A", "1"))\n    y: str = raw("C", "x")\n'
    '    z: float = field(default_factory=lambda: float(os.getenv("B", "1e-3")))\na = repr(C())',
    'class C:\n    x = env("A", 1)\n    y = x * int(raw("B", "2"))\n    def __init__(self, z=raw("Z", "9")):\n'
    "        self.z = z\na = (C.x, C.y, C().z)",
    'os.environ.setdefault("A", "5")\na = int(os.environ["A"])\nb = raw("A", "6")',
    'os.environ.setdefault("A", "5")\nos.environ.setdefault("A", "6")\na = raw("A", "7")',
    'os.environ["A"] = "5"\na = int(raw("A", "6"))',
    'def f(x=env("A", 1), *, y=raw("B", "2")):\n    return x, y\na = f()',
    'a = []\nfor k in ("A", "B"):\n    a.append(os.environ.get(k, "1"))',
    'a = 1\nif (v := os.environ.get("A", "7")):\n    a = v',
    'a = 0\nwhile os.environ.get("A", "0") == "1":\n    a += 1',
    'D = flag("D")\na = 5\nif D and a:\n    a = 1\nif not D or a > 9:\n    a += 1\nif a == 0 or D:\n    a += 100',
    'D = flag("D")\nif D:\n    a = 1\nelif flag("X", "1"):\n    a = 2\nelse:\n    a = 3',
    'def g():\n    def h(k, d=raw("D", "d")):\n        return os.environ.get(k, d)\n    return h("A"), h("B")\na = g()',
    'x, y = env("A", 1), env("B", 2)\na = x + y',
    'a = 1\na += env("A", 1)',
    'a = 1\ndef once():\n    global a\n    a += 1\n    return a\nb = raw("A", once())\nc = flag("X") and once()\n'
    'd = flag("Y", "1") or once()\nprint(b, c, d)',
    'def two(k):\n    if k in os.environ:\n        return os.environ[k]\n    return k.lower()\na = two("ABC")',
    'from functools import partial\np = partial(os.environ.get, "A")\na = p("d")',
    'get = os.environ.get\na = get("A", "1") + get("B", "2")',
    'def g():\n    if flag("A"):\n        q = 1\n    else:\n        q = 2\n    return (lambda: q)()\na = g()',
    'q = "global"\ndef g():\n    if flag("A"):\n        q = 1\n    try:\n        return q\n'
    '    except NameError:\n        return "unbound"\na = g()',
    'a = 0\nfor i in range(3):\n    if flag("S", "1"):\n        break\n    a += 1\nelse:\n    a = 99',
    'N = num("N", -1, int)\na = 5 if N == -1 else min(N, 5)',
    'if raw("A", "0") == "1": a = 1\nelif raw("B", "0") == "1": a = 2\nelse: a = 3',
    'a = (\n    int(raw("A", "1"))\n    + int(raw("B", "2"))  # two\n)',
    'a = raw("A", "1") == "1" \\\n    and raw("B", "0") == "0"',
]
RUN = """
import contextlib, io, json, sys, types
def plain(value):
    if isinstance(value, dict):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [type(value).__name__, *map(plain, value)]
    return f"{type(value).__name__} {value!r}"
said = []
for text in json.load(sys.stdin):
    module, out, error = types.ModuleType("m"), io.StringIO(), ""
    sys.modules["m"] = module
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(text, "text", "exec"), module.__dict__)
    except Exception as raised:
        error = type(raised).__name__
    said.append([error, *(plain(module.__dict__.get(name)) for name in "ab")])
json.dump(said, sys.stdout)
"""


def came_to(*texts: str) -> list[object]:
    """Run texts in an interpreter that has no environment, and return the values of `a` and `b` in each."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUN], input=json.dumps(texts), env={}, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("block", [*(f"a = {read}" for read in READS), *BLOCKS])
def test_a_repaired_text_comes_to_the_same_values(block: str) -> None:
    text = HELPERS + block + USED
    before, after = came_to(text, fix(text, isolated=False).text)
    assert before == after


ATOMS = st.sampled_from(
    ["1", "empty", "full", "'x'", "None", "True", *READS[:6], 'raw("A", "0") == "1"', 'flag("B", "1")', 'env("C", 2)']
)
JOINED = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({} == {})".format, inner, inner),
        st.builds("str({})".format, inner),
        st.builds("f'{{{}!r}}'".format, st.sampled_from(["empty", "full"])),
    ),
    max_leaves=6,
)


@settings(max_examples=30, deadline=None)
@given(values=st.lists(JOINED, min_size=2, max_size=2), tests=st.lists(JOINED, min_size=2, max_size=2))
def test_whatever_decides_a_repair_decides_the_same(values: list[str], tests: list[str]) -> None:
    text = (
        f"{HELPERS}FLAG = {tests[0]}\nif FLAG:\n    a = {values[0]}\nelif {tests[1]}:\n    a = 'second'\n"
        f"else:\n    a = 'third'\nb = {values[1]} if not FLAG else 'flag'{USED}"
    )
    before, after = came_to(text, fix(text, isolated=False).text)
    assert before == after


KEPT = {
    "a print of the script's own that trains": (
        "from prepare import evaluate_bpb\ndef print0(s):\n    opt.step()\n"
        "b = evaluate_bpb(m, t, 8, 256, 'cpu')\nprint0(b)\n",
        "print0(b)",
    ),
    "an `info` of the script's own": (
        "from prepare import evaluate_bpb\nclass L:\n    def info(self, b):\n        opt.step()\nl = L()\n"
        "b = evaluate_bpb(m, t, 8, 256, 'cpu')\nl.info(b)\n",
        "l.info(b)",
    ),
    "a type that is a function": (
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--lr', type=lambda s: float(s) * 2, default='0.1')\na = p.parse_args()\nx = a.lr\n",
        "x = a.lr",
    ),
    "an environment that is changed at once": (
        "import os\nd = {'LR': '3'}\nos.environ |= d\nx = os.environ.get('LR', '1')\n",
        "os.environ.get('LR', '1')",
    ),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_a_repair_would_change_stays(kind: str) -> None:
    text, kept = KEPT[kind]
    assert kept in fix(text, isolated=False).text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.0", 1.0), ("1e-3", 0.001), (".5", 0.5), ("5.", 5.0), ("0x10", 16), ("1_000", 1000), ("1_0.5", 10.5)],
)
def test_a_number_is_written_as_it_was_where_that_says_the_same(text: str, value: float) -> None:
    assert literal(value, text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-1", -1), ("", 0), ("1e3", 1000), (".", 0.0), ("01", 1), ("e1", 0.0), ("nan", 0.0), ("1j", 1)],
)
def test_any_other_spelling_is_not_taken(text: str, value: float) -> None:
    assert literal(value, text) == repr(value)
