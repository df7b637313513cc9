"""What a small file can cost: never more than a few dozen times its parse, measured in one run of one process.

Each of these, and of those in `worst_shapes.py`, was, or could be, exponential or quadratic in its length. Doubling
forty times would take centuries, so a ratio that is generous to a busy machine still tells them apart.
"""

import gc
import time

import libcst
import pytest

from reviewer import Context, LaunchFacts, review
from reviewer.policy import Policy
from reviewer.script import Script
from tests.reviewer.scripts import BASELINE
from tests.reviewer.worst_shapes import HEAD, MODEL, MODELS, TEXTS, TRAINING, UNDER

FORWARD = MODEL + "    def forward(self, x):\n        if self.training: x = self.a(x)\n"
DOUBLED = "".join(f"a{i + 1} = a{i} {{0}} a{i}\n" for i in range(40))
METHODS = "".join(f"    def m{i}(self): return self.m{i + 1}() and self.m{i + 1}()\n" for i in range(40))

WORST = {
    "functions that all call each other": HEAD
    + "".join(
        f"def g{i}(k):\n" + "".join(f"    g{j}(k)\n" for j in range(40)) + "    return os.environ[k]\n"
        for i in range(40)
    )
    + "g0('A')\n",
    "a string doubled": HEAD + "a0 = 'x' * 9\n" + DOUBLED.format("+") + "os.environ[a40]\n",
    "a list in itself, written out": HEAD
    + "a0 = ['x']\n"
    + "".join(f"a{i + 1} = [a{i}, a{i}]\n" for i in range(40))
    + "os.environ[str(a40)], os.environ[f'{a40}'], os.environ['{}'.format(a40)]\n",
    "a long string many times": HEAD
    + f"a = '{'a' * 19_000}'\nos.environ['{{0}}{{0}}{{0}}'.format(a).replace('a', a)]\n"
    + "os.environ[a.replace('a', a)]\nos.environ['{0:>999999999}'.format(1)]\nos.environ[a.join(list(a))]\n",
    "a flag doubled": HEAD
    + "a0 = __name__ == 'x'\n"
    + DOUBLED.format("and")
    + "class GPT(nn.Module):\n    def forward(self, x):\n        return self.b(x) if a40 else x\n",
    "a method doubled": MODEL
    + METHODS
    + "    def m40(self): return self.training\n"
    + "    def forward(self, x):\n        return self.b(x) if self.m0() else x\n",
    "one name bound again and again": HEAD + "o = os\n" * 1_500 + "o.environ['x']\n" * 1_500,
    "one reader bound again and again": HEAD + "g = os.environ.get\n" * 800 + "g('x')\n" * 800,
    "a chain of names from its end": HEAD
    + "".join(f"v{i} = v{i + 1}\n" for i in range(2_500))
    + "v2500 = os\nv0.environ['x']\n",
    "a finding on every line": HEAD + "os.environ['A']\n" * 6_000,
    "types by name": HEAD + "".join(f"dtype{i} = getattr(torch, n)\n" for i in range(1_200)),
    "calls on import into a long chain": HEAD
    + "".join(f"def f{i}(): f{i + 1}()\n" for i in range(800))
    + "f0()\n" * 1_500,
    "paths that double": HEAD
    + "a0 = x\n"
    + "".join(f"a{i + 1} = f'{{a{i}}}/{{a{i}}}'\nopen(a{i + 1})\n" for i in range(200)),
    "one path bound again and again": HEAD + "p = '/a/b'\n" * 1_500 + "open(p)\n" * 1_500,
    "one helper opened everywhere": HEAD
    + "def g(p):\n    return open(p)\n"
    + "".join(f"def f{i}(p): g(p)\nf{i}('/a/{i}')\n" for i in range(600)),
    "members that are paths": HEAD
    + "".join(f"class C{i}:\n    def __init__(self, p):\n        self.p = p\n" for i in range(400))
    + "".join(f"open(C{i}('/x/{i}').p)\n" for i in range(400)),
    "a parent of a parent": HEAD + "from pathlib import Path\nx = Path(p)\n" + "x = x.parent / 'a'\n" * 1_500,
    "a helper full of programs": HEAD
    + "import subprocess\ndef sh(c):\n"
    + "    subprocess.run(c)\n" * 400
    + "sh(['ls'])\n" * 400,
    "helpers that hand a program on": HEAD
    + "import subprocess\n"
    + "".join(
        f"def g{i}(c):\n" + "".join(f"    g{j}(c)\n" for j in range(40)) + "    subprocess.run(c)\n" for i in range(40)
    )
    + "g0('ls')\n",
    "a helper full of flags": HEAD
    + "import argparse\np = argparse.ArgumentParser()\ndef add(n):\n"
    + "    p.add_argument(n)\n" * 400
    + "add('--a')\n" * 400,
    "a helper full of splits": HEAD
    + "from prepare import make_dataloader as m\ndef g(s):\n"
    + "    m(t, 8, 2, s, 'c')\n" * 400
    + "g('val')\n" * 400,
    "a path doubled": HEAD
    + "p0 = x\n"
    + "".join(f"p{i + 1} = p{i} / p{i}\n" for i in range(60))
    + "torch.save(m, p60)\n",
    "savers that nobody calls": HEAD + "".join(f"def f{i}():\n    torch.save(m, 'a')\n" for i in range(2_000)),
    "attempts without end": HEAD
    + "".join(f"try:\n    import a{i}\nexcept ImportError:\n    a{i} = 0\nif a{i}: x()\n" for i in range(1_500)),
    "many returns of a growing value": FORWARD
    + "".join(f"        x = x + self.a{i}(x)\n        if x.b{i}: return x\n" for i in range(600)),
    "noise at every step": FORWARD
    + "".join(f"        if self.c{i}: x = x + noise{i}(x)\n" for i in range(800))
    + "        return x\n",
    "many names at every branch": FORWARD
    + "".join(f"        v{i} = x\n        if v{i}.c: x = self.d(x)\n" for i in range(1_200))
    + "        return x\n",
    "many questions in many functions": MODEL
    + "".join(
        f"    def f{f}(self, x):\n" + "".join(f"        if self.training: x = self.a{q}(x)\n" for q in range(24))
        for f in range(60)
    )
    + "    def forward(self, x):\n"
    + "".join(f"        x = self.f{f}(x)\n" for f in range(60)),
}


DEAR: dict[str, tuple[str, Policy, Context]] = {
    **{name: (text, Policy(), Context()) for name, text in {**WORST, **MODELS, **TRAINING, **TEXTS}.items()},
    **UNDER,
}


@pytest.mark.parametrize("shape", DEAR)
def test_the_cost_of_a_small_file_is_bounded_by_its_parse(shape: str) -> None:
    text, policy, context = DEAR[shape]
    review("x = 1\n", isolated=False)  # imports the rules
    gc.collect()
    start = time.process_time()
    libcst.parse_module(text)
    parsed = time.process_time()
    report = review(text, policy, isolated=False, launch=LaunchFacts("python", 1, ("--x",) * 100), context=context)
    assert time.process_time() - parsed < 60 * (parsed - start) + 0.2
    assert not [f.message for f in report.findings if "could not be applied" in f.message]


@pytest.mark.parametrize("shape", [s for s in WORST if s.startswith(("many returns", "noise", "many names"))])
def test_what_would_take_too_long_goes_to_a_person(shape: str) -> None:
    report = review(WORST[shape], isolated=False)
    stopped = [f for f in report.findings if "take too long" in f.message]
    assert {"E201", "E204"} <= {f.rule for f in stopped}
    assert {f.severity for f in stopped} == {"review"}
    assert report.verdict == "review"


def test_an_honest_script_spends_little_of_its_budget() -> None:
    script = Script(BASELINE, Policy())
    whole = script.budget.left
    assert script.forks
    assert 0 < whole - script.budget.left < whole / 500


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import os\na = os\nb = a\na = b\nx = b.environ['LR']\n", 5),
        ("import os, time\n" + "".join(f"o = time.a{i}\n" for i in range(60)) + "o = os\no.environ['LR']\n", 63),
        ("import os\ndef f(k): return os.environ[k]\nf('RANK')\nfs = [f]\n", 2),
        ("import os\ndef f(k):\n    f(k)\n    return os.environ[k]\ng(lambda: f('LR'))\n", 5),
    ],
)
def test_no_detour_hides_a_read(text: str, line: int) -> None:
    found = [f.line for f in review(text, isolated=False).findings if f.rule == "K101"]
    assert found == [line]
