"""H703 dead-code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.matchers.dead import Dead, find_dead
from reviewer.matchers.idle_attempts import idle_attempts
from reviewer.matchers.idle_knobs import idle_knobs
from reviewer.rules.base import Rule
from reviewer.script import Script

_REMEDY = "Delete it, if nothing else is meant."


class DeadCode(Rule):
    """Notes code that never runs, and names that nobody uses.

    What it looks for
        Arms behind a constant (`if False:`, `while 0:`, `if DEBUG:` with a `DEBUG = False` that is never bound again),
        what follows a `return`, `raise`, `break` or `continue` in its block, and imports, constants of the module and
        functions that are never mentioned again, as well as settings from the environment, also in a class. Not a
        finding: `if TYPE_CHECKING:`, what stands in `__all__` or in another short text, imports in an `if`, or in a
        `try` unless nobody reads the flag it sets either, decorated functions, methods that others may call, settings
        in a file that goes through a class with `vars`, `asdict` and the like, and anything in a file that looks names
        up in `globals()`.

    Why it is refused
        It is not, it is noted. An organizer reads a file faster that holds only what runs, and a switch that is off
        in one version is on in the next.

    Do instead
        Delete it. A repair of other findings deletes what it has left without use, and nothing that was dead before.
    """

    code = "H703"

    VALID: ClassVar = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from a import b\n",
        "from a import b, c\n__all__ = ['b', 'c']\n",
        "try:\n    import fast\nexcept ImportError:\n    pass\n",
        "from __future__ import annotations\nfrom a import *\nimport b as b\n",
        "@register\ndef f():\n    pass\n",
        "def f():\n    pass\nTABLE = [f]\nprint(TABLE)\n",
        "def train():\n    pass\nsteps = {'train': 1}\nprint(steps)\n",
        "DEBUG = False\nif a:\n    DEBUG = True\nif DEBUG:\n    print(1)\n",
        "DEBUG = False\ndef f():\n    global DEBUG\n    DEBUG = True\nf()\nif DEBUG:\n    print(1)\n",
        "LR = 0.1\nexec('print(LR)')\nimport os\nif LR:\n    pass\n",
        "def f():\n    return\n    yield\nprint(list(f()))\n",
        "while True:\n    if __name__ == '__main__':\n        break\n",
        "class C:\n    rate = 0.1\n    def forward(self, x):\n        return x\nC()\n",
        "QUEUE = []\ndef f(x):\n    if QUEUE:\n        QUEUE.clear()\n    QUEUE.append(x)\nf(1)\n",
        "def load_for_eval(path, device):\n    return path\ndef main():\n    pass\n",
        "import os.path\nprint(os.path.sep)\nx: 'list[Tensor]' = []\nfrom torch import Tensor\nprint(x)\n",
        "for i in range(3):\n    if i:\n        continue\n    print(i)\n",
        "DEEP = True\nif DEEP:\n    x = 1\n    print(x)\n",
        "import os\nclass A:\n    lr = float(os.environ.get('LR', 1))\nprint(A.lr)\n",
        "import os\nclass A:\n    lr = float(os.environ.get('LR', 1))\nfor k, v in vars(A).items():\n    print(k, v)\n",
        "import os\nclass A:\n    lr_a = os.environ['LR']\nprint(getattr(A, f'lr_{x}'))\n",
        "import os\nclass A:\n    lr = os.environ['LR']\nprint([getattr(A, k) for k in ('lr',)])\n",
        "import os\nfrom dataclasses import dataclass, asdict\n@dataclass\nclass A:\n"
        "    lr: float = float(os.environ['LR'])\nprint(asdict(A()))\n",
        "try:\n    import fast\n    HAS = True\nexcept ImportError:\n    HAS = False\nprint(HAS)\n",
        "try:\n    import fast\n    HAS = True\nexcept ImportError:\n    HAS = False\nprint(globals()['HAS'])\n",
        "import torch\nKIND = torch.float16\nprint(KIND)\nBACK = torch.backends\n",
    )
    INVALID: ClassVar = (
        "if False:  # !\n    x = 1\n    print(x)\n",
        "if 0 and a:  # !\n    print(1)\n",
        "while 0:  # !\n    print(1)\n",
        "DEBUG = False\nif DEBUG:  # !\n    print(1)\n",
        "DEBUG = False\nif not DEBUG:  # !\n    print(1)\nelse:\n    print(2)\n",
        "MODE = 'fast'\nif MODE == 'slow':  # !\n    print(1)\nelif a:\n    print(2)\n",
        "if a:\n    print(1)\nelif None:  # !\n    print(2)\n",
        "FAST = True\nx = 1 if FAST else 2  # !\nprint(x)\n",
        "def f(a):\n    return a\n    print(a)  # !\nf(1)\n",
        "for a in b:\n    continue\n    print(a)  # !\n",
        "raise SystemExit\nprint(1)  # !\n",
        "import os  # !\n",
        "from a import (\n    b,\n    c,  # !\n)\nprint(b)\n",
        "import numpy as np  # !\nimport torch.nn.functional as F\nprint(F)\n",
        "LR = 0.1  # !\nWD: float = 0.2\nprint(WD)\n",
        "def f(n):  # !\n    return f(n - 1)\n",
        "def g():\n    def inner():  # !\n        pass\ng()\n",
        "env = lambda k: k  # !\n",
        "class C:\n    def _e(self):  # !\n        return 1\nC()\n",
        "OFF = False\ndef f(a):\n    if a and OFF:  # !\n        print(1)\nf(1)\n",
        "import os\nclass A:\n    lr = float(os.environ.get('LR', 1))\n    wd = float(os.environ.get('WD', 1))  # !\n"
        "print(A().lr)\n",
        "import os\ndef e(k, d, t=str):\n    return t(os.environ.get(k, d))\nclass A:\n    lr = e('LR', 1, float)\n"
        "    beta2: float = e('B2', 1, float)  # !\na = A()\nprint(a.lr, getattr(a, 'decay', 0))\n",
        "import os\nNAMES = tuple(n for n in os.environ.get('NAMES', 'a,b').split(','))  # !\n",
        "import os\ndef main():\n    fast = bool(int(os.environ.get('FAST', '1')))  # !\nmain()\n",
        "try:\n    import fast  # !\n    HAS = True\nexcept ImportError:\n    HAS = False\n",
        "import torch\nKIND = torch.float16  # !\n",
        "import numpy as np\nKIND = np.uint16  # !\n",
    )
    FIXED: ClassVar = (
        (
            'import os\nimport math\nif os.environ.get("FAST", "0") == "1":\n    print(1)\nelse:\n    # slow\n'
            "    print(math.pi)\n",
            "import math\n# slow\nprint(math.pi)\n",
        ),
        (
            'import os\nDEBUG = bool(int(os.environ.get("DEBUG", "0")))\ndef show():\n    print(1)\n'
            "if DEBUG:\n    show()\nif False:\n    x = 1\n",
            "if False:\n    x = 1\n",
        ),
    )

    def check(self, script: Script) -> Iterator[Found]:
        for dead in find_dead(script):
            if script.tree.is_outside(dead.node):
                continue  # a shell's, which the text inside need not use
            at_module = script.tree.parent(script.tree.parent(dead.node) or dead.node) is script.tree.module
            if dead.kind != "flat" and (dead.kind != "constant" or at_module):
                yield Found(_shown(dead), _said(dead), _REMEDY, "info")
        for name, node in idle_knobs(script):
            if not script.tree.is_outside(node):
                yield Found(node, f"`{name}` is read from outside the file and never used.", _REMEDY, "info")
        for _, name, node in idle_attempts(script):
            if not script.tree.is_outside(node):
                yield Found(node, f"`{name}` is imported and never used.", _REMEDY, "info")


def _shown(dead: Dead) -> cst.CSTNode:
    return dead.node.test if isinstance(dead.node, cst.If | cst.While) else dead.node


def _said(dead: Dead) -> str:
    if dead.kind == "branch":
        return f"`{dead.name}` is always the same here, so one arm never runs."
    if dead.kind == "rest":
        return f"Nothing after this `{dead.name}` is ever reached."
    what = {"import": "imported", "constant": "set", "function": "defined"}[dead.kind]
    return f"`{dead.name}` is {what} and never used."
