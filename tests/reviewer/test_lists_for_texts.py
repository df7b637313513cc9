"""A list or a table stands where a text or a number is looked up: it is not found there, and no rule breaks."""

import pytest

from reviewer import Policy
from reviewer.rules import load
from reviewer.script import Script

MODEL = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        "


@pytest.mark.parametrize(
    "text",
    [
        "p.open(['r'])\n",
        "x.open({})\n",
        "load_dataset('x', **{['a']: 'val'})\n",
        "load({(1, [2]): 'val'})\n",
        MODEL + "y = x.transpose(0, 1)\n        return y @ y.transpose([0], 1)\n",
        MODEL + "return x.transpose({}, [1]).mean([[0]])\n",
        "import os, torch\no = torch.optim.SGD(p, lr=1)\nfor g in o.param_groups:\n    g[['lr']] = os.cpu_count()\n",
        "import torch\nm = torch.hub.load(['a'], {})\nn = torch.load('x', weights_only=[])\n",
        "import subprocess\nsubprocess.run([['ls']], shell=[[]])\n",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument(['--lr'], type=[float], choices=[[1]])\n",
        "import operator\noperator.methodcaller(['from_pretrained'])\noperator.attrgetter([])\n",
        "from multiprocessing.shared_memory import SharedMemory as M\nM([1], True)\nM({}, create=True)\n",
        "import os\nos.environ.get(['A'], {})\nos.environ[[]]\nos.getenv({'a': []}['a'])\n",
        "import time\nif time.time() in {(): []}:\n    pass\ngetattr(time, ['time'])\nsetattr(time, {}, [])\n",
        "open(['x'], ['w'])\nopen([[]])\nopen(*[[]])\n",
    ],
)
def test_no_rule_breaks(text: str) -> None:
    script = Script(text, Policy())
    for rule in load():
        list(rule.check(script))
