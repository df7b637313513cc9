"""C503 kit-constant-reassigned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.matchers.kit_parts import find_parts
from reviewer.matchers.shadows import imported, shadows
from reviewer.matchers.stored import stored
from reviewer.rules.base import Rule
from reviewer.script import Script

_KIT = "prepare"
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*\Z")
# What a star brings in from the kit that comes with the platform.
_NAMES = (
    "TOKENIZER_VOCAB_SIZE TRAIN_TIME_BUDGET_SECONDS TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS TRAIN_STARTUP_STEPS_EXCLUDED "
    "TRAIN_TERM_SECONDS EVAL_TIMEOUT_SECONDS EVAL_SEQ_LEN EVAL_BATCH_SIZE SEED TIME_BUDGET MAX_SEQ_LEN"
)
_CONVERSIONS = frozenset({"builtins.int", "builtins.float", "builtins.str"})
_REMEDY = "Leave it as the kit has it, and give a number of your own a name of its own."


class KitConstantReassigned(Rule):
    """Refuses new values for the constants of the kit.

    What it looks for
        `prepare.TRAIN_TIME_BUDGET_SECONDS = …` and any other constant of the kit (a name in capitals) that is set,
        changed or deleted as an attribute, by `setattr` or `vars(prepare)`; the same for its inner parts, whose names
        begin with an underscore, and for what is in them (`prepare._CONSTANTS.update(…)`): where they are only used, a
        person looks. And a constant imported from the kit whose
        name gets another value in the file: by assignment, in a loop, in a function, or in `globals()`. A value for
        where the kit cannot be imported is fine, and so are parameters and fields of that name.

    Why it is refused
        Whoever reads the name believes it to be the contest's number: the budget, the vocabulary, the length that is
        scored. The platform measures with its own numbers whatever the script believes, so this only misleads.

    Do instead
        `MY_BUDGET = TRAIN_TIME_BUDGET_SECONDS - 5`.
    """

    code = "C503"

    VALID: ClassVar = (
        "from prepare import TRAIN_TIME_BUDGET_SECONDS\nBUDGET = TRAIN_TIME_BUDGET_SECONDS - 5\n",
        "import prepare\nTRAIN_TIME_BUDGET_SECONDS = prepare.TRAIN_TIME_BUDGET_SECONDS\n",
        "TIME_BUDGET = 60\nTIME_BUDGET = 50\n",
        "try:\n    from prepare import EVAL_SEQ_LEN\nexcept ImportError:\n    EVAL_SEQ_LEN = 256\n",
        "from prepare import EVAL_SEQ_LEN\ndef f(EVAL_SEQ_LEN=EVAL_SEQ_LEN):\n    return EVAL_SEQ_LEN\n",
        "from prepare import EVAL_SEQ_LEN\nclass Config:\n    EVAL_SEQ_LEN = EVAL_SEQ_LEN\n"
        "    LENGTH: int = EVAL_SEQ_LEN\n",
        "import prepare\nclass C:\n    pass\nc = C()\nc.SEED = 3\nsetattr(c, 'EVAL_SEQ_LEN', 1)\n",
        "from prepare import SEED\nrows = [SEED + i for i in range(3)]\nx = {'SEED': SEED}\nx['SEED'] = 4\n",
        "from prepare import print0\nprint0(1)\nBATCH = 8\nBATCH *= 2\n",
        "from prepare import TRAIN_TIME_BUDGET_SECONDS as LIMIT\nlimit = LIMIT\nlimit -= 1\n",
        "from prepare import TRAIN_TIME_BUDGET_SECONDS\nTRAIN_TIME_BUDGET_SECONDS = float(TRAIN_TIME_BUDGET_SECONDS)\n",
        "from prepare import *\nLAYERS = 3\nbudget = TRAIN_TIME_BUDGET_SECONDS\n",
        "import torch\ntorch.backends.cudnn.ENABLED = True\nimport prepare\nx = prepare.SEED\n",
        "import prepare\nclass C:\n    _path = 3\nx = C()._path\nprint(prepare.__file__, prepare.__doc__)\n",
        "import prepare\nx = prepare._path('train_files')\n",
        "import prepare\n_CONSTANTS = {}\n_CONSTANTS['a'] = 3\ngetattr(prepare, 'SEED')\n",
    )
    INVALID: ClassVar = (
        "import prepare\nprepare.TIME_BUDGET = 1e9  # !\n",
        "import prepare as p\np.TRAIN_STARTUP_STEPS_EXCLUDED += 100  # !\n",
        "import prepare\nsetattr(prepare, 'MAX_SEQ_LEN', 4096)  # !\n",
        "import prepare\nvars(prepare)['EVAL_' + 'SEQ_LEN'] = 8  # !\nprepare.__dict__['SEED'] = 3  # !\n",
        "import prepare\nprepare.__dict__.update(SEED=3)  # !\ndel prepare.EVAL_SEQ_LEN  # !\n",
        "__import__('prepare').SEED = 1  # !\n",
        "import sys\nsys.modules['prepare'].SEED = 1  # !\n",
        "import prepare\ndef f(kit):\n    kit.SEED = 1  # !\nf(prepare)\n",
        "from prepare import TIME_BUDGET\nTIME_BUDGET = 60  # !\n",
        "from prepare import TIME_BUDGET as LIMIT\nLIMIT *= 2  # !\n",
        "from prepare import EVAL_SEQ_LEN, SEED\nEVAL_SEQ_LEN, SEED = 8, 9  # !\n",
        "from prepare import TIME_BUDGET\nif fast:\n    TIME_BUDGET = min(TIME_BUDGET, 60)  # !\n",
        "from prepare import SEED\nfor SEED in range(3):  # !\n    pass\n",
        "from prepare import SEED\nif (SEED := 4):  # !\n    pass\n",
        "from prepare import SEED\ndef main():\n    global SEED\n    SEED = 4  # !\n",
        "from prepare import TIME_BUDGET\ndef main():\n    TIME_BUDGET = 900  # !\n    return TIME_BUDGET\n",
        "from prepare import TIME_BUDGET\nglobals()['TIME_BUDGET'] = 60  # !\n",
        "from prepare import TIME_BUDGET\nimport sys\nsetattr(sys.modules[__name__], 'TIME_BUDGET', 60)  # !\n",
        "from prepare import *\nTRAIN_TIME_BUDGET_SECONDS = 1e9  # !\n",
        "from prepare import SEED\nSEED: int = 4  # !\n",
        "try:\n    from prepare import SEED\nexcept OSError:\n    SEED = 3  # !\n",
        "import prepare\nfor prepare.SEED in [1]:  # !\n    pass\n",
        "import prepare\nset_it = lambda n, v: setattr(prepare, 'SEED', v)  # !\n",
        "from prepare import SEED\nwith x as SEED:  # !\n    pass\n",
        "import prepare\nprepare._CONSTANTS.update(budget_seconds=1e9)  # !\n",
        "import prepare as p\np._CONSTANTS['seed'] = 3  # !\ndel p._CONSTANTS['seed']  # !\n",
        "import prepare\nprepare._boundary_fifo = 3  # !\nsetattr(prepare, '_BASE', 'x')  # !\n",
        "import prepare\ncap = 15.0 + prepare._CONSTANTS.get('cap', 0)  # ! review\n",
        "from prepare import _CONSTANTS as c  # ! review\nc.update(seed=3)  # !\nprint(c)  # ! review\n",
        "import prepare\nx = getattr(prepare, '_CON' + 'STANTS')  # ! review\n",
        "import prepare\nx = vars(prepare)['_BASE']  # ! review\ny = prepare._read_constants()  # ! review\n",
        "import prepare\nf = lambda: prepare._read_constants()  # ! review\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        if _KIT not in script.text and not any(path.startswith(_KIT) for path in script.called):
            return
        for store in (one for name, ones in stored(script).items() if _CONSTANT.match(name) for one in ones):
            if not store.by_key and _KIT in _meant(script, store.base):
                what = f"`{_KIT}.{store.name}` is a constant of the kit, and gets another value here."
                yield Found(store.node, what, _REMEDY)
        for node, path, is_changed in find_parts(script):
            if is_changed:
                yield Found(node, f"`{path}` is an inner part of the kit, and is changed here.", _REMEDY)
            else:
                what = f"`{path}` is an inner part of the kit, and no script needs it."
                yield Found(node, what, "Use what the kit offers: its names without an underscore.", "review")
        names = imported(script, lambda path: path.startswith(f"{_KIT}.") and bool(_CONSTANT.match(path[8:])))
        if _KIT in {star for scope in script.scopes.all() for star in scope.stars}:
            names.update((name, f"{_KIT}.{name}") for name in _NAMES.split())
        for shadow in shadows(script, names):
            is_parameter = shadow.binding is not None and shadow.binding.kind == "param"
            if not is_parameter and not _is_same(script, shadow.value, shadow.path):
                what = f"`{shadow.name}` is a constant of the kit, and stands for something else from here on."
                yield Found(shadow.node, what, _REMEDY)


def _meant(script: Script, node: cst.CSTNode) -> set[str]:
    """Return what a thing can be, also where a helper is handed it."""
    found = set(script.values.paths(node))
    if isinstance(node, cst.Name) and not found:
        function = script.scopes.function_of(node)
        if not isinstance(function, cst.FunctionDef):
            return found
        for call, own in script.calls.sites.get(id(function), ())[:8]:
            given = script.calls.arguments(function, call, own).get(node.value)
            found.update(script.values.paths(given))
    return found


def _is_same(script: Script, value: cst.CSTNode | None, path: str) -> bool:
    """Tell whether the new value is the old one, perhaps as a number of another type."""
    if isinstance(value, cst.Call) and len(value.args) == 1 and _CONVERSIONS.intersection(script.path_of(value)):
        value = value.args[0].value
    return isinstance(value, cst.Name | cst.Attribute) and path in script.values.paths(value)
