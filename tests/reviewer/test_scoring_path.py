"""How severe the findings on the way to scoring are, which the examples of their rules do not tell, and their cost."""

import time

import libcst
import pytest

from reviewer.found import Found
from reviewer.policy import Policy
from reviewer.rules import load
from reviewer.script import Script

RULES = {rule.code: rule for rule in load()}
HEAD = "import torch, torch.nn as nn\nclass GPT(nn.Module):\n    def forward(self, x):\n        return self.head(x)\n"
LOAD = HEAD + "def load_for_eval(path, device):\n    state = torch.load(path)\n    model = GPT()\n"
TRAIN = "    return model\ndef main():\n    model = GPT()\nmain()\n"


def severities(code: str, text: str) -> list[str]:
    found = RULES[code].check(Script(text, Policy()))
    return [one.at_most for one in found if isinstance(one, Found)]


@pytest.mark.parametrize(
    ("code", "text", "severity"),
    [
        ("S404", "import prepare\nprepare.record_step_boundary = print\n", "reject"),
        ("S404", "import torch\ntorch.nn.Linear.forward = print\n", "reject"),
        ("S404", "import time\ntime.time = lambda: 0\n", "reject"),
        ("S404", "import sys\nsys.modules['torch'] = 1\n", "reject"),
        ("S404", HEAD + "GPT.forward = print\n", "review"),
        ("S404", "import numpy\nnumpy.load = print\n", "review"),
        ("E202", LOAD + "    state['a'] = state['a'] * 1.1\n" + TRAIN, "reject"),
        ("E202", LOAD + "    state['a'] = state['a'] * state['b']\n" + TRAIN, "review"),
        ("E202", LOAD + "    model.forward = print\n" + TRAIN, "reject"),
        ("E203", LOAD + "    model.load_state_dict(state['best'])\n" + TRAIN, "review"),
        ("E206", HEAD.replace("return", "x.sum().backward(); return"), "reject"),
        ("E206", HEAD.replace("return", "if self.training: x.sum().backward()\n        return"), "review"),
    ],
)
def test_a_finding_is_as_severe_as_what_it_found(code: str, text: str, severity: str) -> None:
    assert severities(code, text) == [severity]


WORST = {
    "a helper full of attributes": HEAD + "def g(m):\n" + "    m.x = 1\n" * 400 + "g(torch)\n" * 400,
    "one state bound again and again": LOAD + "    state = state * 2\n" * 800 + TRAIN,
    "a chain of states": LOAD + "".join(f"    s{i + 1} = s{i} * s{i}\n" for i in range(400)) + TRAIN,
    "one class built everywhere": LOAD + "    GPT()\n" * 600 + TRAIN + "GPT()\n" * 600,
}


@pytest.mark.parametrize("shape", WORST)
def test_the_cost_is_bounded_by_the_parse(shape: str) -> None:
    text = WORST[shape]
    start = time.process_time()
    libcst.parse_module(text)
    parsed = time.process_time()
    script = Script(text, Policy())
    for code in ("S404", "E202", "E203", "E206"):
        list(RULES[code].check(script))
    assert time.process_time() - parsed < 60 * (parsed - start) + 0.2
