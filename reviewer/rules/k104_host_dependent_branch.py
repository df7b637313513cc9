"""K104 host-dependent-branch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.branches import branches
from reviewer.dataflow.endings import ends, statements
from reviewer.environment.asked import asked
from reviewer.environment.counted import is_counted
from reviewer.environment.hosts import ASKING, ASKING_METHODS, TELLING, Kind
from reviewer.examples import counted
from reviewer.fold import UNKNOWN, names_in
from reviewer.found import Found
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script

# A branch that does only this leaves the model and its training as they are.
_SAYING = (
    "print print0 log log0 info debug warning warn error exit _exit abort makedirs mkdir flush write append barrier "
    "banner set_num_threads setLevel basicConfig collect empty_cache close join remove unlink rmtree"
)
_HARMLESS = frozenset(_SAYING.split())
_PLUMBING = re.compile(
    r"worker|thread|device|dtype|backend|host|user|cache|log|verbose|pin_memory|rank|proc|print|flops|name$"
)
_COUNTED_ONLY = frozenset({"chance", "setting"})
_REMEDY = "Write one way into the script."
_REMEDIES: dict[Kind, str] = {
    "clock": f"{_REMEDY[:-1]}; how long a run may take is in `TRAIN_TIME_BUDGET_SECONDS` of the kit.",
    "file": f"{_REMEDY[:-1]}, and write what the file would say into it too, or raise where the file is missing.",
}
_FOLDERS = ("os.path.expanduser", "os.path.expandvars", "pathlib.Path.home")  # these give paths and tell of nothing


class HostDependentBranch(Rule):
    """Sends scripts that depend on where, when and as whom they run to a person.

    What it looks for
        A test (`if`, `while`, `match`, `a if b else c`, `and`, a comparison, a key of a dict, a remainder) that is made
        of the host's name, the platform, the user, folders of the user, process numbers, processors and memory, the
        name and memory of a card, the time of day, or whether a file outside `out/` is there; through names, fields,
        helpers and functions such as `len` and `hash`. And numbers made of those without a test, of chance that no
        seed governs (`os.urandom`, `secrets`, `uuid`, `id`, `hash` of a text) or of the interpreter's settings
        (`sys.flags`, `sys.path`, the terminal, file times), where they meet what the scored model runs, a layer, an
        optimizer, the kit's loader, the loss, or a tensor that is changed in place.

    Why it is refused
        It is not, a person looks. A script that trains another model on another machine or on another day was not
        audited as what runs, and nobody can repeat it.

    Do instead
        Write one way. Silent: elapsed time, as in `time.perf_counter() - start > budget`; `sys.version_info`;
        `torch.cuda.is_available()`; files in `out/`; tests that only raise, end, print or make folders; numbers in a
        log, the name of a file or a count of workers. A test of a device's capability, or one that sets only a device,
        a type or a number of workers, is noted.
    """

    code = "K104"

    VALID: ClassVar = (
        *counted.VALID,
        "import time\nstart = time.perf_counter()\nwhile time.perf_counter() - start < 60:\n    step()\n",
        "import time\nt0 = time.time()\nlimit = t0 + BUDGET\nif time.time() > limit:\n    stop = True\n",
        (
            "import time\nclass Clock:\n    def __init__(self):\n        self.t0 = time.monotonic()\n"
            "    def spent(self):\n"
            "        return time.monotonic() - self.t0\nc = Clock()\nif c.spent() > 9:\n    lr = 0\n"
        ),
        "import sys\nif sys.version_info < (3, 10):\n    x = 1\n",
        "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
        "import os\nif os.path.exists('out/final.pt'):\n    resume()\n",
        "import os\nif not os.path.isdir('logs'):\n    os.makedirs('logs')\nos.makedirs('out', exist_ok=True)\n",
        "import platform\nif platform.system() != 'Linux':\n    raise SystemExit('Linux only')\n",
        "import os\nworkers = min(8, os.cpu_count() or 1)\ntorch.set_num_threads(os.cpu_count())\n",
        "import socket\nprint(socket.gethostname())\nopen('out/log', 'w').write(f'{socket.gethostname()}')\n",
        "import torch\nif torch.cuda.get_device_capability() >= (9, 0):\n    dtype = torch.bfloat16\n",
        "import torch\nfused = kernel if torch.cuda.get_device_properties(0).major >= 9 else plain\n",
        "import os\ndef load_for_eval(path, device):\n    if os.path.exists(path):\n        return load(path)\n",
        "import time\nprint(time.strftime('%H:%M'))\nname = f'out/{time.time():.0f}.txt'\n",
        "import os\nif os.path.exists(chosen):\n    x = 1\n",
        (
            "import datetime as d\nstart = d.datetime.now()\nif (d.datetime.now() - start).total_seconds() > 60:\n"
            "    stop = 1\n"
        ),
        "import sys\nif sys.platform == 'win32':\n    backend = 'gloo'\n",
        "class platform:\n    node = 'a'\nif platform.node == 'b':\n    x = 1\n",
        "import time\nif step % 10 == 0:\n    t = time.time()\nif lr > 0:\n    t = 1\n",
        "import os\nassert os.path.exists('data')\n",
        (
            "from pathlib import Path\nclass Loader:\n    def __init__(self, pattern):\n"
            "        self.files = sorted(Path.cwd().glob(pattern))\n    def next(self):\n"
            "        self.at = (self.at + 1) % len(self.files)\n        return self.files[self.at]\n"
        ),
        "import os\nhere = os.getcwd()\nif x in os.path.join(here, 'out'):\n    y = 1\n",
        "from pathlib import Path\nout = Path.cwd() / 'out'\nif out in seen:\n    y = 1\n",
    )
    INVALID: ClassVar = (
        *counted.INVALID,
        "from pathlib import Path\nif Path.cwd().name == 'a':  # !\n    x = 1\n",
        "import os\nif 'holdout' in os.getcwd():  # !\n    x = 1\n",
        "import socket\nif socket.gethostname() == 'a':  # !\n    lr = 1\n",
        "import platform as p\nlr = 1 if p.node() == 'a' else 2  # !\n",
        "from platform import machine\nlr = {'x86_64': 1}.get(machine(), 2)  # !\n",
        "import platform\nlr = {'Linux': 1, 'Darwin': 2}[platform.system()]  # !\n",
        "import os\nmatch os.uname().nodename:  # !\n    case 'a':\n        lr = 1\n",
        "import getpass\nu = getpass.getuser()\nif u.startswith('judge'):  # !\n    lr = 1\n",
        "import os\nif 'holdout' in os.path.expanduser('~'):  # !\n    lr = 1\n",
        "import time\nif time.tzname[0] == 'UTC':  # !\n    lr = 1\n",
        "import datetime\nif datetime.datetime.now().year > 2026:  # !\n    lr = 1\n",
        "from datetime import datetime as d\nif d.now() > d(2026, 1, 1):  # !\n    lr = 1\n",
        "import time\nlr = 1 if time.time() > 1_800_000_000 else 2  # !\n",
        "import time\nlr = [1, 2][int(time.time()) % 2]  # !\n",
        "import time\nif time.localtime().tm_hour < 6:  # !\n    lr = 1\n",
        "import os\nbatch = 8 if os.cpu_count() > 4 else 4  # !\n",
        "import os\nif os.path.exists('flag'):  # !\n    lr = 1\n",
        "from pathlib import Path\nif Path('flag').exists():  # !\n    lr = 1\n",
        "import os\nlr = 0.1 * (os.getpid() % 2)  # !\n",
        "import torch\nif 'H100' in torch.cuda.get_device_name():  # !\n    lr = 1\n",
        "import torch\nfree, total = torch.cuda.mem_get_info()\nif free > 1e9:  # !\n    width = 768\n",
        "import torch\nif torch.cuda.get_device_properties(0).total_memory > 1e9:  # !\n    width = 768\n",
        "import psutil\nif psutil.virtual_memory().total > 1e9:  # !\n    width = 768\n",
        "import sys\nif sys.platform == 'linux':  # !\n    lr = 1\n",
        "import socket\ndef where():\n    return socket.gethostname()\ndef there():\n    return where()\n"
        "if there() == 'a':  # !\n"
        "    lr = 1\n",
        "import socket\nclass C:\n    def __init__(self):\n        self.h = socket.gethostname()\n    def lr(self):\n"
        "        return 1 if self.h == 'a' else 2  # !\n",
        (
            "import socket\nclass C:\n    h = socket.gethostname()\n    @property\n    def a(self):\n"
            "        return self.h == 'a'\nlr = 1 if C().a else 2  # !\n"
        ),
        "import socket\nif (h := socket.gethostname()) == 'a':  # !\n    lr = 1\n",
        "import socket\ndef f(host):\n    if len(host) > 3:  # !\n        return 1\nlr = f(socket.gethostname())\n",
        "import socket\nf = lambda: socket.gethostname()\nlr = f() == 'a' and 2  # !\n",
        "import socket\ng = getattr(socket, 'gethost' + 'name')\nif hash(g()) % 2:  # !\n    lr = 1\n",
        "import socket\nxs = [x for x in y if socket.gethostname() != 'a']  # !\n",
        "import os\nwhile os.getlogin() == 'a':  # !\n    train()\n",
        "try:\n    import socket as s\nexcept ImportError:\n    s = None\nif not s.gethostname():  # !\n    lr = 1\n",
        "import uuid\nlr = 1 if uuid.getnode() == 3 else 2  # !\n",
        "import shutil\nif shutil.disk_usage('.').free > 5:  # !\n    lr = 1\n",
        "import os\nif os.listdir('flags'):  # !\n    lr = 1\n",
        (
            "import socket\ndef outer():\n    h = socket.gethostname()\n    def inner():\n        return h > 'm'\n"
            "    return 1 if inner() else 2  # !\n"
        ),
        "import time\nif time.perf_counter() > 1000:  # !\n    lr = 1\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        said: set[int] = set()
        for node, kind, what in asked(script):
            stop = partial(_ends, script, kind)
            is_named = False
            for place, test in branches(script, node, stop) if kind not in _COUNTED_ONLY else ():
                where = _outermost(script, test)
                if id(where) in said or _is_idle(script, kind, place, test):
                    continue
                said.add(id(where))
                is_named = True
                said_of = "Whether a file in a folder of the user is there" if _is_path(script, node, where) else what
                severity = _severity(script, kind, node, where)
                yield Found(where, f"{said_of} decides here.", _REMEDIES.get(kind, _REMEDY), severity)
            counts = kind not in ("device", "file") or (kind == "device" and _is_telling(script, node))
            if counts and not is_named and id(node) not in said and is_counted(script, node, stop):
                said.add(id(node))
                remedy = _REMEDIES.get(kind, _REMEDY)
                yield Found(node, f"{what} counts in what is trained or scored.", remedy, "review")


def _is_path(script: Script, node: cst.CSTNode, test: cst.CSTNode) -> bool:
    """Tell whether a test asks of the path that is made here whether something is there."""
    if not isinstance(node, cst.Call) or not any(p in _FOLDERS for p in script.path_of(node)):
        return False
    asking: list[cst.CSTNode] = [call for path in ASKING for call in script.called.get(path, ())]
    asking += [name for method in ASKING_METHODS for name in script.mentions.get(method, ())]
    return any(a is test or test in script.tree.ancestors(a) for a in asking)


def _ends(script: Script, kind: Kind, below: cst.CSTNode, above: cst.CSTNode) -> bool:
    """Tell whether the way of a value ends: elapsed time is no time of day, and a check is no branch."""
    if isinstance(above, cst.Assert | cst.Raise | cst.FormattedStringExpression) or _is_start(script, below, above):
        return True
    if isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.Or):
        return above.left is below and not isinstance(below, cst.Comparison)  # `cpu_count() or 1`
    if kind == "file" and isinstance(above, cst.For | cst.CompFor):
        return True  # what is done with each of some files
    if kind != "clock":
        return False
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Subtract | cst.Add):
        other = above.right if above.left is below else above.left
        return isinstance(above.operator, cst.Subtract) and not _is_fixed(script, other)
    if isinstance(above, cst.Comparison):
        sides = [above.left, *(c.comparator for c in above.comparisons)]
        return not all(_is_fixed(script, side) for side in sides if side is not below)
    if isinstance(above, cst.ComparisonTarget):
        comparison = script.tree.parent(above)
        return isinstance(comparison, cst.Comparison) and not _is_fixed(script, comparison.left)
    return False


def _is_start(script: Script, below: cst.CSTNode, above: cst.CSTNode) -> bool:
    """Tell whether a path starts here: `Path.cwd() / name` and `Path.cwd().glob(…)` lie where the run lies."""
    if isinstance(above, cst.Attribute):
        goes_on = above.attr.value in ("glob", "rglob", "joinpath", "iterdir")
    else:
        goes_on = isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Divide)
        taker = script.tree.parent(above) if isinstance(above, cst.Arg) else None
        goes_on |= isinstance(taker, cst.Call) and "os.path.join" in script.path_of(taker)
    return goes_on and any(p in ("pathlib.Path.cwd()", "os.getcwd()") for p in script.values.paths(below))


def _is_fixed(script: Script, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is a constant, or a date that is written out."""
    if script.values.constant(node) is not UNKNOWN:
        return True
    if isinstance(node, cst.Call) and all(script.values.constant(a.value) is not UNKNOWN for a in node.args):
        return any(p.startswith("datetime.") for p in script.path_of(node)) and bool(node.args)
    return False


def _outermost(script: Script, test: cst.CSTNode) -> cst.CSTNode:
    """Return the statement or expression that branches, so that one test is one finding."""
    for above in script.tree.ancestors(test):
        if isinstance(above, cst.If | cst.While | cst.IfExp | cst.CompIf | cst.Match):
            whole = above.subject if isinstance(above, cst.Match) else above.test
            return whole if test is whole or whole in script.tree.ancestors(test) else test
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement):
            break
    return test


def _branching(script: Script, test: cst.CSTNode) -> cst.CSTNode | None:
    above = script.tree.parent(test)
    while isinstance(above, cst.BooleanOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
        above = script.tree.parent(above)
    return above


def _is_idle(script: Script, kind: Kind, place: cst.CSTNode, test: cst.CSTNode) -> bool:
    """Tell whether nothing but messages, folders and ends depends on a test."""
    branch = _branching(script, test)
    if isinstance(branch, cst.Assert):
        return True
    if isinstance(branch, cst.If):
        arms = [branch.body, branch.orelse.body if isinstance(branch.orelse, cst.Else) else None]
        return not isinstance(branch.orelse, cst.If) and all(_says_only(script, arm) for arm in arms if arm is not None)
    if isinstance(branch, cst.Arg):
        call = script.tree.parent(branch)
        name = getattr(getattr(call, "func", None), "attr", getattr(call, "func", None))
        return getattr(name, "value", "") in _HARMLESS
    return False


def _says_only(script: Script, body: cst.BaseSuite) -> bool:
    if ends(script, body):
        return True
    for statement in statements(body):
        call = statement.value if isinstance(statement, cst.Expr) else None
        name = getattr(getattr(call, "func", None), "attr", getattr(call, "func", None))
        harmless = isinstance(call, cst.Call) and getattr(name, "value", "") in _HARMLESS
        if not harmless and not isinstance(statement, cst.Pass | cst.Import | cst.ImportFrom | cst.Assert):
            return False
    return True


def _severity(script: Script, kind: Kind, node: cst.CSTNode, test: cst.CSTNode) -> Severity:
    """Return how severe a branch is: choosing a kernel, a device or a number of workers is noted."""
    if kind == "device":
        return "review" if _is_telling(script, node) else "info"
    branch = _branching(script, test)
    targets: list[cst.CSTNode] = []
    if isinstance(branch, cst.If):
        arms = [branch.body, branch.orelse.body if isinstance(branch.orelse, cst.Else) else branch.body]
        for statement in (s for arm in arms for s in statements(arm)):
            if not isinstance(statement, cst.Assign):
                return "review"
            targets += [t.target for t in statement.targets]
    elif isinstance(branch, cst.IfExp):
        above = script.tree.parent(branch)
        targets = [t.target for t in above.targets] if isinstance(above, cst.Assign) else []
    names = {name for target in targets for name in names_in(target)} - {"self"}
    return "info" if names and all(_PLUMBING.search(name.lower()) for name in names) else "review"


def _is_telling(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is a property that tells one card from another."""
    above = script.tree.parent(node)
    return isinstance(above, cst.Attribute) and above.attr.value in TELLING
