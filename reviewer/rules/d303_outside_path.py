"""D303 outside-path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

import libcst as cst

from reviewer.files.opened import METHODS, OPENING
from reviewer.files.pathflow import TRANSPARENT, Paths
from reviewer.files.paths import OUT, leads_outside, shown
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import Own
from reviewer.wording import clip

_HOMES = (
    "os.path.expanduser posixpath.expanduser pathlib.Path.home pathlib.PosixPath.home pathlib.Path().expanduser "
    "pathlib.PosixPath().expanduser pwd.getpwuid pwd.getpwnam pwd.getpwall"
)
# These call what they are given with what they are given: `map(open, paths)`.
_PASSING_ON = frozenset({"map", "filter", "partial", "starmap", "submit", "apply", "apply_async", "Thread", "Process"})
# Where a system keeps its own things. Whoever is handed such a text gets a path.
_ROOTS = "proc sys etc var root home usr opt mnt media data run dev srv boot lib lib64 bin sbin holdout kit Users"
_SYSTEM = re.compile(rf"/+(?:{_ROOTS.replace(' ', '|')})(?:/|$)|(?:\.\./)+")
_SUSPICIOUS = re.compile(rf"""["'](?:/+(?:{_ROOTS.replace(" ", "|")})\b|\.\./)""")
_SEARCHED = re.compile(r""":/+\w|^["'][^:]*/include/?["']$""")  # a list of folders, and headers for a compiler
# These say a text or compare it; they open nothing.
_SAYING_WORDS = (
    "print print0 log info debug warning warn error exception critical write startswith endswith split rsplit replace "
    "partition rpartition strip lstrip rstrip removeprefix removesuffix count find index rfind match search sub "
    "findall fullmatch compile isinstance len repr encode decode encode_batch add_argument ArgumentParser get getenv"
)
_SAYING = frozenset(_SAYING_WORDS.split())
_TEXTS = frozenset({cst.SimpleString, cst.FormattedString, cst.ConcatenatedString})
_REMEDY = "Take data from the kit; files of your own stand below the run's folder, as in `out/…`, and /tmp is scratch."


class OutsidePath(Rule):
    """Refuses to open, list or look for files outside the folder of the run.

    What it looks for
        Absolute paths, `..`, `/proc`, `/sys`, `/var/run/secrets` and home folders, given to whatever opens, lists or
        asks for files: `open`, `os`, `glob`, `shutil`, `pathlib`, `torch.load`, `numpy.memmap` and the like. Paths are
        followed through names, fields, helpers, `os.path.join`, `pathlib` and f-strings. `expanduser` and `Path.home`
        are found wherever they stand. So are the folders of Python and its packages, once something is opened there.

    Why it is refused
        What a run knows must come from the training data that the kit hands out. Other files of the machine can hold
        more data, finished weights, or what tells training and scoring apart.

    Do instead
        Ask the kit for data and for its paths, write to `out/…`, and keep scratch files in `/tmp`. Relative paths below
        the folder of the run are free, and so is the kit's `/holdout/constants.json`. A competition can allow further
        folders.
    """

    code = "D303"

    VALID: ClassVar = (
        "import os, torch\nos.makedirs('out', exist_ok=True)\ntorch.save({}, 'out/final.pt')\n",
        "import torch\nfrom prepare import DATA_DIR\nx = torch.load(f'{DATA_DIR}/tokens.pt')\nopen(DATA_DIR + '/a')\n",
        "open('/tmp/scratch', 'w')\nopen('/dev/null', 'w')\nopen(__file__).read()\n",
        "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nopen(os.path.join(here, 'out', 'a'), 'a')\n",
        "from pathlib import Path\np = Path(__file__).resolve().parent / 'out'\n(p / 'a').write_text('x')\n",
        "from pathlib import Path\nx = list(Path('out').glob('*')), Path().cwd() / 'out'\n",
        "import re\nprint('see /proc/meminfo', '/etc/x')\nre.compile('/usr/.*')\nx = 'a/b'.split('/')\nr = a / b\n",
        "def f(path):\n    return open(path)\nf('out/a')\nf('data/../out/b')\n",
        "raise ValueError('/data/x is missing')\n",
        "import torch\ndef load_for_eval(path, device):\n    return torch.load(path, weights_only=True)\n",
        "import tempfile, os\nopen(os.path.join(tempfile.mkdtemp(), 'x'), 'w')\nos.makedirs(os.path.dirname(p))\n",
        "url = 'https://example.org/../a'\ncheck(url)\n",
        "import json\nc = json.load(open('/holdout/constants.json'))\nopen(c['data_dir'] + '/a')\n",
        "import sys, os\nopen(os.path.join(sys.path[0], 'out', 'a'))\nprint(sys.path, sys.executable, sys.prefix)\n",
        "import os\nn = os.getcwd().split('/')[-1]\nopen(f'out/{n}', 'w')\nopen(__file__.replace('.py', '.log'))\n",
        "import glob, os\nfs = sorted(glob.glob(os.path.join(os.getcwd(), '*.bin')))[:2]\nopen(fs[0])\n",
        "import __main__, sys\nopen(__main__.__file__), open(sys.modules[__name__].__file__)\nopen('a', dir_fd=None)\n",
        "class A:\n    def open(self, x):\n        return x\nA().open('/a b')\n",
        "run(program, env={'PATH': '/usr/bin:/bin'})\nbuild(text, headers=['/usr/local/cuda/include/'])\n",
    )
    INVALID: ClassVar = (
        "open('/etc/passwd')  # !\n",
        "import torch\nw = torch.load('/data/weights.pt', weights_only=True)  # !\n",
        "import os\nif os.path.exists('/sealed'):  # !\n    pass\n",
        "import numpy as np\nD = '/data'\nx = np.memmap(f'{D}/train.bin', mode='r')  # !\n",
        "import os\nx = os.listdir('..')  # !\ny = os.scandir(os.path.join('out', '..', '..'))  # !\n",
        "from os.path import join as j, isfile\nisfile(j(x, '/proc/self/maps'))  # !\n",
        "from pathlib import Path\np = Path('/').joinpath('etc')  # !\n",
        "from pathlib import Path\nx = (Path('out') / '..' / '..' / 'a').read_text()  # !\n",
        "from pathlib import Path\nx = list(Path(__file__).resolve().parent.parent.iterdir())  # !\n",
        "from pathlib import Path\nx = Path.cwd().parents[1] / 'a'  # !\n",
        "import os\nup = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nopen(up + '/x')  # !\n",
        "import os\nx = os.path.expanduser('~/data')  # !\n",
        "from pathlib import Path\nx = Path.home()  # !\ny = Path('~/a').expanduser()  # !\n",
        "def read(path):\n    return open(path).read()\nread('out/a')\nread('/root/a')  # !\n",
        "class Config:\n    path: str = '/mnt/tokens'\ndef f(c):\n    return open(c.path)  # !\n",
        "class Data:\n    def __init__(self, path):\n        self.path = path\n"
        "    def read(self):\n        return open(self.path)\nData('../x').read()  # !\n",
        "import os\nopen(os.sep + 'et' + 'c')  # !\nopen(chr(47) + 'x')  # !\nopen('%s/x' % '/a')  # !\n",
        "f = open\nf(b'/etc/x')  # !\ngetattr(__import__('io'), 'op' + 'en')('/x')  # !\n",
        "import os\nhere = os.getcwd()\nopen(here + '_other/a')  # !\nopen(here.rsplit('/', 1)[0] + '/a')  # !\n",
        "from pathlib import Path\nclass Mine(Path):\n    pass\nMine('/x').read_text()  # !\n",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 1\n    p: str = 'out'\n"
        "def f(c):\n    return open(c.p)\nf(C(2, '/x')), f(C(p='/y'))  # !\n",
        "for i, p in enumerate(['out/a', '/a/b']):\n    open(p)  # !\n",
        "for p in ['out/a', '/a/b']:\n    open(p)  # !\n",
        "list(map(open, ['/x/y']))  # !\n",
        "import functools\nP = '/x'\ng = functools.partial(open, P)  # !\n",
        "import h5lib\nx = h5lib.File('/mnt/data/x')  # ! review\ny = h5lib.File('/usr/include/x.h5')  # ! review\n",
        "import sys\nsys.path.append('..')  # !\n",
        "import os\np = os.environ.get('D', '/data')\nopen(p + '/x')  # !\n",
        "import torch, os\nopen(os.path.join(os.path.dirname(torch.__file__), 'a'))  # !\n",
        "import sys, os\nos.listdir(sys.path[-1])  # !\nfor p in sys.path:\n    open(p + '/a')  # !\n",
        "import sys\nfrom glob import glob\nglob(sys.path[2] + '/torch/**/*.h')  # !\nopen(sys.executable)  # !\n",
        "import os\nopen(os.path.join(os.path.abspath(os.curdir).split('work')[0], 'etc'))  # !\n",
        "import os\nh = os.getcwd()\nopen(os.path.join(h[:1], 'etc'))  # !\nopen(h.replace('work', '') + 'x')  # !\n",
        "from pathlib import Path\nopen(Path(Path.cwd().parts[0], 'etc'))  # !\n",
        "import os\nopen(os.getcwd().removesuffix('work') + 'etc')  # !\nopen(os.path.relpath('/etc/x'))  # !\n",
        "import site, os\nos.listdir(site.getsitepackages()[0])  # !\n",
        "import sysconfig\nopen(sysconfig.get_path('purelib') + '/a')  # !\n",
        "import torch, os, inspect\nos.listdir(torch.__path__[0])  # !\nopen(inspect.getfile(torch))  # !\n",
        "import torch\nopen(getattr(torch, '__file__'))  # !\nopen(vars(torch)['__file__'])  # !\n",
        "import sys\nfor m in sys.modules.values():\n    open(m.__file__)  # !\n",
        "import importlib.util as u\nopen(u.find_spec('torch').origin)  # !\n",
        "import os\nd = os.open('.', os.O_RDONLY)\nf = os.open('etc', 0, dir_fd=d)  # ! review\n",
        "P = {'a': '/etc/x'}\nfor p in P.values():\n    open(p)  # !\n",
        "open('/holdout/../etc/x')  # !\nopen('/holdout/constants.jsonl')  # !\nopen('/holdout/data')  # !\n",
        "open('/dev/../etc/passwd')  # !\nopen('/tmp/../etc/x')  # !\nopen(f'\\x2fetc/{x}')  # !\n",
        "import os\nos.chdir('/')  # !\nos.symlink('/etc', 'out/x')  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        found: dict[int, Found] = {}
        for one in self._everything(script):
            found.setdefault(id(one.node), one)
        for one in found.values():  # a path inside a path is one finding
            if not any(id(above) in found for above in script.tree.ancestors(one.node)):
                yield one

    def _everything(self, script: Script) -> Iterator[Found]:
        paths = script.paths
        calls = {id(call): call for _, call in script.calling(OPENING)}.values()
        for call in calls:
            for arg in call.args:
                yield from _outside(script, paths, arg.value)
            if "dir_fd" in script.text and (given := _dir_fd(script, call)) is not None:
                yield Found(given, "Which folder this path begins in is known only during the run.", _REMEDY, "review")
        for _, call in script.calling(_HOMES.split()):
            yield _home(script, call)
        if "expanduser" in script.text:
            for attribute in script.tree.of(cst.Attribute):
                if attribute.attr.value == "expanduser":
                    yield _home(script, _called(script, attribute))
        if any(path.startswith("pathlib") for path in (*script.called, *(path for _, path in script.imports))):
            yield from self._path_objects(script, paths)
        for call in _passing_on(script):
            for arg in call.args:
                yield from _outside(script, paths, arg.value)
        if _SUSPICIOUS.search(script.text):
            yield from _handed_over(script)

    def _path_objects(self, script: Script, paths: Paths) -> Iterator[Found]:
        """Look at what is divided and asked where there are path objects."""
        for cls in script.tree.of(cst.ClassDef):
            if any(path in OPENING for base in cls.bases for path in script.values.paths(base.value)):
                for call, _ in script.calls.sites[id(cls)]:
                    for arg in call.args:
                        yield from _outside(script, paths, arg.value)
        for division in script.tree.of(cst.BinaryOperation):
            sides = (type(division.left), type(division.right))
            if type(division.operator) is cst.Divide and not _TEXTS.isdisjoint(sides):  # numbers are divided, too
                yield from _outside(script, paths, division)
        for call in script.tree.of(cst.Call):
            if type(call.func) is cst.Attribute and call.func.attr.value in METHODS:  # `isinstance` is slow on these
                yield from _outside(script, paths, call.func.value, call)
                if call.func.attr.value in ("joinpath", "glob", "rglob", "symlink_to", "hardlink_to"):
                    for arg in call.args:
                        yield from _outside(script, paths, arg.value, call)


def _outside(
    script: Script, paths: Paths, node: cst.BaseExpression, place: cst.CSTNode | None = None
) -> Iterator[Found]:
    """Yield a path that leads outside, where it is used, or where a helper that uses it is given it."""
    for text, given in paths.of(node):
        if leads_outside(text, script.policy):
            name = shown(text) if not text.startswith(OUT) else script.tree.code(node)
            what = f"`{clip(name, 80)}` leads out of the folder of the run."
            yield Found(given or place or node, what, _REMEDY)


def _dir_fd(script: Script, call: cst.Call) -> cst.Arg | None:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value.endswith("dir_fd"):
            return arg if script.values.constant(arg.value) is not None else None
    return None


def _home(script: Script, node: cst.CSTNode) -> Found:
    return Found(node, f"`{clip(script.tree.code(node), 80)}` asks for a home folder of this machine.", _REMEDY)


def _called(script: Script, attribute: cst.Attribute) -> cst.CSTNode:
    parent = script.tree.parent(attribute)
    return parent if isinstance(parent, cst.Call) and parent.func is attribute else attribute


def _passing_on(script: Script) -> Iterable[cst.Call]:
    """Yield the calls that have something else open what they hand over."""
    for path, calls in script.called.items():
        if path.rpartition(".")[2] in _PASSING_ON:
            yield from (c for c in calls if any(p in OPENING for a in c.args for p in script.values.paths(a.value)))


def _handed_over(script: Script) -> Iterator[Found]:
    """Find texts that are paths of a system and go to a function that nothing is known of."""
    for literal in script.tree.of(cst.SimpleString):
        if not _SUSPICIOUS.search(literal.value) or _SEARCHED.search(literal.value):
            continue
        value = script.values.constant(literal)
        text = value if isinstance(value, str) else value.decode("latin-1") if isinstance(value, bytes) else ""
        if _SYSTEM.match(text) and leads_outside(text, script.policy) and _goes_to_a_stranger(script, literal):
            what = f"`{clip(text, 80)}` leads out of the folder of the run, and goes to a function that may open it."
            yield Found(literal, what, _REMEDY, "review")


def _goes_to_a_stranger(script: Script, literal: cst.SimpleString) -> bool:
    for above in script.tree.ancestors(literal):
        if isinstance(above, cst.Subscript | cst.Comparison | cst.Lambda):
            return False
        if isinstance(above, cst.Call):
            values = script.values.of(above.func)
            name = getattr(getattr(above.func, "attr", above.func), "value", "")
            if name in _SAYING or any(isinstance(v, Own) and not isinstance(v.node, cst.ClassDef) for v in values):
                return False
            if not any(path in TRANSPARENT for path in script.path_of(above)):
                return not isinstance(script.tree.parent(above), cst.Raise)
        if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            return False
    return False
