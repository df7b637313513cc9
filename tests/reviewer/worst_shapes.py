"""Small files that are as dear as they can be: each is a loop in some rule that could have been quadratic, or worse.

By the part of the audit that they try. `n` times a line is enough to tell a loop over lines from one over pairs of
lines, and few enough for a test.
"""

from collections.abc import Callable

from reviewer.context import Context
from reviewer.policy import Policy

HEAD = "import os, torch, torch.nn as nn\ndef load_for_eval(path, device):\n    return GPT()\n"
MODEL = HEAD + "class GPT(nn.Module):\n"
FORWARD = MODEL + "    def forward(self, x, targets=None):\n"
LOADER = "import torch\ndef load_for_eval(path, device):\n    m = GPT()\n"
STEP = "from prepare import record_step_boundary\n"
ODD = ". /a#{%[_"  # each of which some pattern could begin anew at
WORD = "QWxhZGRpbjpvcGVuIHNlc2FtZQ"


def times(n: int, line: Callable[[int], str]) -> str:
    """Return n lines, each made of its number."""
    return "".join(map(line, range(n)))


def all_call_each_other(does: str, n: int = 40) -> str:
    """Return functions of which each calls all others, and then does something."""
    return times(n, lambda i: f"def g{i}(k):\n" + times(n, lambda j: f"    g{j}(k)\n") + f"    {does}\n")


def deep(n: int, line: Callable[[int], str], last: str = "pass") -> str:
    """Return n statements inside one another."""
    return times(n, lambda i: "    " * i + line(i) + "\n") + "    " * n + last + "\n"


MODELS = {
    "a thousand losses, the least taken": FORWARD
    + "        m = F.cross_entropy(x, targets)\n        l = torch.stack([m, m]).min()\n" * 400,
    "a loss made of a loss made of a loss": FORWARD
    + "        l0 = F.cross_entropy(x, targets)\n"
    + times(700, lambda i: f"        l{i + 1} = l{i} + l{i}\n")
    + "        return l700.min()\n",
    "targets that become keys": FORWARD + "        h = hash(targets)\n        x = self.table[h]\n" * 500,
    "targets made of targets": FORWARD
    + "        t0 = targets\n"
    + times(700, lambda i: f"        t{i + 1} = t{i} * 3\n")
    + "        return self.table[t700]\n",
    "targets handed from helper to helper": HEAD
    + all_call_each_other("return table[k]")
    + "def loss(x, targets):\n    g0(targets)\n",
    "one buffer written everywhere": MODEL
    + "    def __init__(self):\n"
    + "        self.register_buffer('b', torch.zeros(3))\n" * 400
    + "    def forward(self, x):\n"
    + "        self.b.add_(x)\n" * 400,
    "a thousand buffers": MODEL
    + "    def __init__(self):\n"
    + times(400, lambda i: f"        self.register_buffer('b{i}', torch.zeros(3))\n")
    + "    def forward(self, x):\n"
    + times(400, lambda i: f"        self.b{i}.copy_(x)\n"),
    "an attribute made of itself": MODEL
    + "    def forward(self, x):\n"
    + "        self.c = x\n        self.c += self.c\n" * 500,
    "a global set again and again": HEAD + "c = {}\ndef forward(x):\n    global c\n" + "    c[x] = c = c\n" * 800,
    "one way out of many layers": FORWARD + times(700, lambda i: f"        x = self.n{i}(x) - x.mean(0)\n"),
    "views of views": FORWARD + times(800, lambda i: f"        x{i + 1} = x{i}.view(-1, 3)\n"),
    "classes that hold each other": HEAD
    + times(
        300,
        lambda i: (
            f"class C{i}(nn.Module):\n    def __init__(self):\n        self.c = C{(i + 1) % 300}()\n"
            "    def forward(self, x): return self.c(x)\n"
        ),
    ),
    "classes above classes": HEAD
    + "class C0(nn.Module): pass\n"
    + times(400, lambda i: f"class C{i + 1}(C{i}):\n    def forward(self, x): return super().forward(x)\n"),
    "classes above themselves": HEAD + times(500, lambda i: f"class C{i}(C{(i + 1) % 500}): pass\n") + "C0()\n" * 300,
    "methods of one name": HEAD
    + times(600, lambda i: f"class C{i}:\n    def m(self): return self.m()\n")
    + "x.m()\n" * 600,
    "properties of properties": MODEL
    + times(400, lambda i: f"    @property\n    def p{i}(self): return self.p{i + 1}\n")
    + "    def forward(self, x): return x if self.p0 else x * 2\n",
    "many set for scoring": LOADER
    + times(400, lambda i: f"    m.a{i} = {i}\n")
    + "class GPT:\n    def forward(self, x):\n"
    + times(400, lambda i: f"        x = x * self.a{i}\n"),
    "one thing set for scoring": LOADER + "    m.a = x\n" * 900,
    "many wrappers": LOADER + times(800, lambda i: f"    m = W{i}(m)\n") + "    return m\n",
    "a score of many": LOADER + "    for p in ps:\n        if score(m) < best: best = m\n" * 400 + "    return best\n",
    "logits scaled again and again": FORWARD + "        if self.training: return x\n" + "        x = x * 1.1\n" * 900,
    "an arm after an arm": FORWARD + times(300, lambda i: f"        if targets is None: return x * {i}\n"),
    "many arms of one question": FORWARD
    + "        if self.training: x = 1\n"
    + times(400, lambda i: f"        elif x{i}: x = {i}\n"),
    "a choice in a choice": FORWARD + "        return " + "x if self.training else " * 150 + "x\n",
    "learning at every step": FORWARD + "        loss.backward(); opt.step()\n" * 500 + "        return x\n",
    "learning by helpers": HEAD + all_call_each_other("k.backward()") + "class GPT:\n    def forward(self, x): g0(x)\n",
    "learning from one text": HEAD + "d = open('data/val.bin')\n" + "d = d[1:]\nloss(d).backward()\n" * 400,
}
TRAINING = {
    "a boundary at every line": HEAD
    + STEP
    + "for s in x:\n"
    + "    loss.backward(); opt.step()\n    record_step_boundary(s)\n" * 400,
    "boundaries in helpers": HEAD + STEP + all_call_each_other("record_step_boundary(k)") + "for s in x: g0(s)\n",
    "boundaries in branches": HEAD
    + STEP
    + "for s in x:\n"
    + "    if a: opt.step()\n    elif b: record_step_boundary(s)\n    else: loss.backward()\n" * 300,
    "loops in loops": HEAD + STEP + deep(19, lambda i: f"for s{i} in x:", "record_step_boundary(s0)"),
    "one name of the clock": HEAD + "import time\n" + "time = time\n" * 800 + "time.time()\n" * 400,
    "many names of the clock": HEAD + times(700, lambda i: f"import time as t{i}\nt{i}.time = t{i}\n"),
    "a time made of a time": HEAD
    + "import time\nt0 = time.time()\n"
    + times(700, lambda i: f"t{i + 1} = t{i} + 1\n")
    + "if t700 > 3: x = 1\n",
    "one time read everywhere": HEAD + "import time\n" + "x = time.perf_counter()\n" * 700,
    "a host's name handed on": HEAD
    + "import socket\n"
    + all_call_each_other("x = 1 if k else 2")
    + "g0(socket.gethostname())\n",
    "seeds made of seeds": HEAD
    + "s0 = os.environ['SEED']\n"
    + times(700, lambda i: f"s{i + 1} = s{i}\n")
    + "torch.manual_seed(s700)\n" * 200,
    "kernels in other ways": HEAD + times(400, lambda i: f"m{i} = torch.compile(m, mode='a{i}')\n"),
    "kit constants": HEAD + "import prepare\nfrom prepare import BUDGET\n" + "prepare.BUDGET = BUDGET = 6\n" * 600,
    "patches in one loop": HEAD + "for m in (torch, os, nn):\n" + "    m.x = 1\n" * 900,
    "hooks": HEAD + "import atexit, signal\ndef f(): pass\n" + "atexit.register(f)\nsignal.signal(1, f)\n" * 400,
    "loads of loads": HEAD
    + "s0 = torch.load(p)\n"
    + times(500, lambda i: f"s{i + 1} = {{k: v for k, v in s{i}.items()}}\n")
    + "m.load_state_dict(s500)\n",
    "a helper full of writes": HEAD + "def w(p, d):\n" + "    open(p, 'w').write(d)\n" * 200 + "w('a/b', x)\n" * 200,
    "savers that call each other": HEAD + all_call_each_other("torch.save(k, 'out/final.pt')") + "g0(1)\n",
    "settings handed from name to name": HEAD
    + "import json\nc = json.load(open('a.json'))\n"
    + times(700, lambda i: f"c = c['x{i}']\n"),
}
TEXTS = {
    "claims in every comment": "# No environment, no fallback, identical at train and eval, pure, causal.\n" * 1_500,
    "claims in one comment": f"# {'no environment, pure, causal, identical in training and evaluation ' * 700}\n",
    "claims in one docstring": f'"""{"no environment read and no validation data is used. " * 2_000}"""\nx = 1\n',
    "signs of comments in texts": HEAD + times(900, lambda i: f"x = '#'  # no environment '\" {i}\n"),
    "a table": HEAD + "t = [" + "[1, 2, 3],\n" * 1_500 + "]\n",
    "many tables": HEAD + times(400, lambda i: f"t{i} = [1, 2, 3, 4, 5, 6, 7, 8]\n"),
    "a table in a table": HEAD + "t = " + "[" * 150 + "1," * 2_000 + "]" * 150 + "\n",
    "texts in pieces": HEAD + f"b = (\n{f'{WORD!r} ' * 400})\n",
    "texts in pieces that nobody knows": HEAD + f"b = (\n{f'{WORD!r} ' * 399}f'{{x}}')\n",
    "a text that grows": HEAD + "c = 'x'\n" + f"c += {WORD!r}\nexec(c)\n" * 400,
    "names that nobody uses": HEAD + times(1_500, lambda i: f"v{i} = {i}\n"),
    "functions that nobody uses": HEAD + times(700, lambda i: f"def f{i}(): pass\n"),
    "ends of one block": HEAD + "def f(x):\n" + times(500, lambda i: f"    return x * {i}\n"),
    "one import again and again": HEAD + "import os\n" * 1_000,
    "switches": HEAD + "D = False\nm.eval()\n" + "if D: x = 1\n" * 700,
    "attempts in attempts": HEAD
    + deep(19, lambda i: "try:\n" + "    " * (i + 1) + "import a")
    + times(19, lambda i: "    " * (18 - i) + "except ImportError:\n" + "    " * (19 - i) + "a = None\n"),
    "functions in functions": HEAD + deep(95, lambda i: f"def f{i}(a{i}):", "return a0"),
    "lambdas in lambdas": HEAD + "f = " + "lambda x: (" * 95 + "x" + ")" * 95 + "\n",
    "partials of partials": HEAD
    + "from functools import partial\np0 = os.environ.get\n"
    + times(500, lambda i: f"p{i + 1} = partial(p{i}, 'A')\n")
    + "p500()\n",
    "a decorator of everything": HEAD + "def d(f): return f\n" + "@d\n" * 700 + "def f(): pass\n",
    "long names": HEAD + times(60, lambda i: f"self.{'loss_' * 99}.x = {'a_' * 249}{i} = {'_' * 490}\n"),
    "long texts of one sign": HEAD
    + times(9, lambda i: f"open({ODD[i] * 9_000!r})\n__import__({(ODD[i] + 'a') * 4_500!r})\n"),
}
FROZEN = Policy.from_mapping(
    {
        "sections": [
            {
                "name": "data",
                "banner": "DATA",
                "accepted": [{"name": f"b{i}", "date": "2026-01-01", "text": f"x = {i}"} for i in range(20)],
            },
            {
                "name": "model",
                "definitions": ["f", "GPT"],
                "accepted": [{"name": "b", "date": "2026-01-01", "text": "def f(): return x\nclass GPT: pass"}],
            },
        ]
    }
)
_MANY = HEAD + times(500, lambda i: f"def f{i}(): return os.environ['A{i}']\n")
# Texts that are dear under a policy with frozen sections, or after another version.
UNDER: dict[str, tuple[str, Policy, Context]] = {
    "banner after banner": ("# ==== DATA ====\nx = 1\n" * 700, FROZEN, Context()),
    "a section defined again": ("def f(): return x\nclass GPT: pass\n" * 400, FROZEN, Context()),
    "a section changed from outside": (
        "def f(): return x\nclass GPT: pass\n" + "f = f\nGPT.a = f\nsetattr(GPT, 'b', f)\n" * 400,
        FROZEN,
        Context(),
    ),
    "a version in which all is new": (
        _MANY,
        Policy(),
        Context(previous=_MANY.replace("A", "B").replace("return", "yield"), knob_counts=(1,) * 50),
    ),
    "one function many times": (
        HEAD + "def f(): pass\n" * 700,
        Policy(),
        Context(previous=HEAD + "def f(): return 1\n" * 700),
    ),
}  # fmt: skip
