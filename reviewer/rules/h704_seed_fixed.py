"""H704 seed-fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.endings import statements
from reviewer.dataflow.helpers import where_given
from reviewer.fold import UNKNOWN
from reviewer.found import Edit, Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.training.seeds import DRAWING, OWN, SEEDING, is_given
from reviewer.wording import clip

_PARTIAL = "functools.partial"
_REMEDY = "Remove it: random, numpy and torch are seeded already. The run's seed is `prepare.SEED`, if you need it."


class SeedFixed(Rule):
    """Warns of a script that seeds itself over the seed that the platform drew.

    What it looks for
        `torch.manual_seed`, `torch.cuda.manual_seed_all`, `random.seed`, `numpy.random.seed`, `set_seed` and the like
        with a seed that is not made from the platform's; through helpers, where the helper is called. Without an
        argument `random.seed()` takes one from the machine. A generator of the script's own is only noted, and so is a
        seed inside `fork_rng`, which puts the old state back. Silent: seeds made from `prepare.SEED`, from
        `torch.initial_seed()`, or from a number that is drawn.

    Why it is refused
        It is not, it is a warning. Seeds are drawn after the script is frozen, so that several runs tell what is luck.
        With one seed in the file all runs share it, and it may have been chosen among many.

    Do instead
        Leave it out: every rank begins seeded. For more, `from prepare import SEED` and `torch.manual_seed(SEED + n)`.
        `submit --fix --also H704` leaves it out; without `--also` the repair leaves it alone.
    """

    code = "H704"

    VALID: ClassVar = (
        "import torch\nfrom prepare import SEED\ntorch.manual_seed(SEED)\n",
        "import torch, prepare\ntorch.manual_seed(prepare.SEED + rank)\n",
        "import torch\nfrom prepare import SEED as s, get_dist_info\nbase = s * 2\n"
        "torch.cuda.manual_seed_all(base + get_dist_info()[1])\n",
        (
            "import torch, random\ntorch.manual_seed(torch.initial_seed() + 1)\n"
            "random.seed(torch.initial_seed() % 2**32)\n"
        ),
        "import numpy as np, random\nnp.random.seed(random.randrange(2**32))\n",
        "import torch\ng = torch.Generator().manual_seed(1234)\nx = torch.randn(3, generator=g)\n",
        "import torch\ng = torch.Generator(device='cpu')\ng.manual_seed(0)\n",
        "import numpy as np, random\nr = np.random.default_rng(7)\nq = random.Random(1).random()\n",
        "import torch\nfrom prepare import SEED\ndef seed_all(seed):\n    torch.manual_seed(seed)\nseed_all(SEED)\n",
        "import torch\nfrom prepare import SEED\nclass C:\n    seed = SEED\ntorch.manual_seed(C.seed)\n",
        "import torch\nfrom prepare import SEED\nf = lambda s: torch.manual_seed(s)\nf(SEED)\n",
        "import torch\nwith torch.random.fork_rng():\n    torch.manual_seed(0)\n    x = torch.randn(3)\n",
        "import random\nx = random.random()\nsave(random.getstate())\n",
        "def seed(x):\n    return x\nseed(1)\nmanual_seed = seed\nmanual_seed(3)\n",
        "class A:\n    def manual_seed(self, s):\n        return s\nA().manual_seed(1)\n",
        "import torch, functools\nfrom prepare import SEED\nf = functools.partial(torch.manual_seed, SEED)\nf()\n",
        "text = 'torch.manual_seed(0)'  # torch.manual_seed(0)\n",
    )
    INVALID: ClassVar = (
        "import torch\ntorch.manual_seed(1337)  # !\n",
        "import torch\ntorch.cuda.manual_seed(1)  # !\ntorch.cuda.manual_seed_all(2)  # !\n",
        "import random\nrandom.seed(0)  # !\nrandom.seed()  # !\n",
        "import numpy as np\nnp.random.seed(seed=42)  # !\n",
        "from torch import manual_seed as m\nm(3)  # !\n",
        "import torch\nt = torch\nf = getattr(t, 'manual_' + 'seed')\nf(5)  # !\n",
        "import torch\nSEED = 1337\ntorch.manual_seed(SEED + rank)  # !\n",
        "import torch\ndef set_seed(seed=42):\n    torch.manual_seed(seed)\nset_seed()  # !\nset_seed(7)  # !\n",
        (
            "import torch, random\ndef one(s):\n    random.seed(s)\ndef both(s):\n    one(s)\n"
            "    torch.manual_seed(s)\nboth(1)  # !\n"
        ),
        "import torch\nclass Args:\n    seed: int = 1\na = Args()\ntorch.manual_seed(a.seed)  # !\n",
        "import torch, functools\nf = functools.partial(torch.manual_seed, 5)  # !\nf()\n",
        "import random, torch\nfor f in (random.seed, torch.manual_seed):  # !\n    f(0)\n",
        "import torch\nlist(map(torch.manual_seed, [1]))  # !\n",
        "import torch\nif (g := torch.manual_seed(9)):  # !\n    pass\n",
        "import torch\nf = lambda: torch.manual_seed(0)  # !\nf()\n",
        "try:\n    import torch as t\nexcept ImportError:\n    t = None\nt.manual_seed(0)  # !\n",
        "import torch\ntorch.seed()  # !\n",
        "from transformers import set_seed\nset_seed(42)  # !\n",
        "import torch, time\ntorch.manual_seed(int(time.time()))  # !\n",
        "import torch\ndef outer():\n    def inner():\n        torch.manual_seed(0)  # !\n    inner()\n",
        "import torch\nclass T:\n    def __init__(self):\n        torch.random.manual_seed(0)  # !\n",
        "import torch\nx = [torch.manual_seed(i) for i in range(3)]  # !\n",
        "import torch\ntorch.default_generator.manual_seed(0)  # !\n",
    )
    FIXED: ClassVar = (
        ("import torch\ntorch.manual_seed(1337)\nx = torch.randn(3)\n", "import torch\nx = torch.randn(3)\n"),
        ("import torch\nif cuda:\n    torch.cuda.manual_seed(1)\n", "import torch\nif cuda:\n    pass\n"),
        ("import torch\ng = torch.manual_seed(0)\n", "import torch\ng = torch.manual_seed(0)\n"),
    )

    def check(self, script: Script) -> Iterator[Found]:
        said: set[int] = set()
        for path, call in script.calling(sorted(SEEDING | DRAWING)):
            for place, seed in _seeds(script, path, call):
                if id(place) in said or is_given(script, seed):
                    continue
                said.add(id(place))
                yield _found(script, place, path, seed)
        for _, call in script.calling((_PARTIAL,)) if _PARTIAL in script.called else ():
            path = next((p for p in script.values.paths(call.args[0].value) if p in SEEDING), "") if call.args else ""
            if path and len(call.args) > 1 and not is_given(script, call.args[1].value):
                yield _found(script, call, path, call.args[1].value)
        for path, node in script.handing_on(SEEDING):
            above = script.tree.parent(node)
            taker = script.tree.parent(above) if isinstance(above, cst.Arg) else None
            if not (isinstance(taker, cst.Call) and _PARTIAL in script.path_of(taker)):
                what = f"`{path}` is handed on, and sets another seed than the platform's where it is called."
                yield Found(node, what, _REMEDY)
        for _, call in script.calling(sorted(OWN)):
            if call.args and not is_given(script, call.args[0].value):
                what = "A generator has a seed of its own, so what it draws is the same in every run."
                yield Found(call, what, "Nothing to do, if that is meant.", "info")


def _seeds(script: Script, path: str, call: cst.Call) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression | None]]:
    """Yield where seeds are given, and which; nothing for a call whose seed a partial has given."""
    seed = next((a.value for a in call.args if a.keyword is None or a.keyword.value in ("seed", "a")), None)
    if seed is not None:
        yield from where_given(script, call, seed)
    elif path in DRAWING and not call.args and _PARTIAL not in script.called:
        yield call, None


def _found(script: Script, place: cst.CSTNode, path: str, seed: cst.BaseExpression | None) -> Found:
    if _is_forked(script, place):
        what = f"`{path}` sets a seed here, and `fork_rng` puts the old state back."
        return Found(place, what, "Nothing to do.", "info")
    if seed is None:
        return Found(place, f"`{path}` takes a seed from the machine, over the platform's.", _REMEDY)
    value = script.values.constant(seed)
    said = script.tree.code(seed) if value is UNKNOWN else str(value)
    what = f"`{path}` sets the seed to `{clip(said, 60)}`, over the one that the platform drew."
    fixed = isinstance(place, cst.Call) and script.called.get(path) is not None and place in script.called[path]
    statement = script.tree.parent(place) if fixed else None
    fix = (lambda: _removed(script, statement)) if isinstance(statement, cst.Expr) else None
    return Found(place, what, _REMEDY, fix=fix)


def _is_forked(script: Script, place: cst.CSTNode) -> bool:
    blocks = (a for a in script.tree.ancestors(place) if isinstance(a, cst.With)) if "fork_rng" in script.text else ()
    items = (item.item for block in blocks for item in block.items)
    return any(isinstance(i, cst.Call) and "torch.random.fork_rng" in script.path_of(i) for i in items)


def _removed(script: Script, statement: cst.Expr) -> Sequence[Edit]:
    """Take a statement out; where its block has nothing but such statements, `pass` stays in its place."""
    line = script.tree.parent(statement)
    block = script.tree.parent(line) if line is not None else None
    around = list(statements(block)) if block is not None else []
    whole = line if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else statement
    others = [s for s in around if not (isinstance(s, cst.Expr) and _seeds_only(script, s))]
    return (Edit(statement, "pass"),) if around and not others else (Edit(whole, ""),)


def _seeds_only(script: Script, statement: cst.Expr) -> bool:
    call = statement.value
    return isinstance(call, cst.Call) and any(path in SEEDING for path in script.path_of(call))
