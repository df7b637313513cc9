"""K101 env-read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.environment.env_detours import find_answers, find_detours
from reviewer.environment.env_keys import Read
from reviewer.environment.env_reads import find_reads
from reviewer.fold import UNKNOWN
from reviewer.found import Edit, Found, Setting
from reviewer.repairs.freezing import Freezing, drawn_keys
from reviewer.report import Constant
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.wording import clip

_CONVERSIONS = {"int": int, "float": float, "str": str, "bool": bool}
_WITHOUT_DEFAULT = "Write the value there; no default says which, so no repair can."
_READERS = frozenset({"dotenv", "decouple", "environs", "pydantic_settings", "environ", "envparse", "starlette.config"})


class EnvRead(Rule):
    """Refuses settings that come from the process environment.

    What it looks for
        Every form of reading it: `os.environ[...]`, `.get`, `.pop`, `.setdefault`, `in`, iteration, `**os.environ`,
        `os.getenv`; under aliases, through `getattr`, `vars`, `partial` and star imports; in defaults and dataclass
        fields; and through helpers, where the finding stands at each call of the helper, with its key and default.
        Detours, too: an attribute `environ` of whatever object, its name in a text that is looked up, `expandvars`,
        `gc.get_objects`, a process that prints it, functions that answer with a variable (`get_terminal_size`).

    Why it is refused
        The scored model must be in the file. With fifty knobs outside it, the model can change while the text that
        was audited stays the same, and a result cannot be traced to a script.

    Do instead
        Write the value where it is used: `LR = 0.02`. What torchrun says about processes (`RANK`, `WORLD_SIZE`, …)
        may be read, and so may what the phase's launch grammar declares. Writing a variable for a library is only
        noted.
    """

    code = "K101"

    VALID: ClassVar = (
        "import os\nrank = int(os.environ.get('RANK', 0))\nddp = 'LOCAL_RANK' in os.environ\n",
        "import os\nw = int(os.environ['WORLD_SIZE'])\na = os.getenv('MASTER_ADDR')\n",
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n",
        "import os\ndef e(k, d):\n    return os.environ.get(k, d)\nrank = e('RANK', '0')\n",
        "import os\nos.makedirs('out', exist_ok=True)\np = os.path.join('a', 'b')\n",
        "environ = {'LR': 1}\nlr = environ['LR']\nx = environ.get('LR')\n",
        "class C:\n    def getenv(self, k):\n        return k\nC().getenv('LR')\n",
        "text = '''os.environ['LR']'''  # os.environ['LR']\n",
        "import os\nddp = all(k in os.environ for k in ('RANK', 'WORLD_SIZE'))\n",
        "import os\nranks = os.environ.get('RANK', '0').split(',')\nn = len(os.environ['WORLD_SIZE'].strip())\n",
        "class C:\n    def getenv(self, k):\n        return k\nc = C()\nc.getenv('LR')\n",
        "import subprocess\nsubprocess.run(['nvidia-smi'])\nsubprocess.run(['lrzip', '-z', 'a'])\n",
        "print('{0.shape}'.format(x))  # '{0.environ}'\nprint('the environment is not read')\n",
        "import os\nos.environ.update({'A': '1'})\ndel os.environ['A']\n",
    )
    INVALID: ClassVar = (
        "import os\nlr = os.environ['LR']  # !\n",
        "import os\nlr = float(os.environ.get('LR', '0.02'))  # !\n",
        (
            "import os\na = os.getenv('A', '1')  # !\nb = os.environ.pop('B', None)  # !\n"
            "os.environ.setdefault('C', '2')  # !\n"
        ),
        "import os\nif 'FAST' in os.environ:  # !\n    x = 1\n",
        "import os\nfor k, v in os.environ.items():  # !\n    print(k)\nfor k in os.environ:  # !\n    pass\n",
        "import os\nf(**os.environ)  # !\n",
        "import os\nd = {**os.environ}  # !\n",
        "import os\nd = dict(os.environ)  # !\n",
        "import os as o\ne = o.environ\ng = e.get\nx = g('LR')  # !\n",
        "from os import environ as e\nx = e['LR']  # !\n",
        "from os import getenv\nx = getenv('LR')  # !\n",
        "from os import *\nx = environ['LR']  # !\n",
        "import os\nx = getattr(os, 'env' + 'iron')['LR']  # !\n",
        "import os\nn = ''.join(['env', 'iron'])\nx = getattr(os, n).get('LR')  # !\n",
        "import os\nx = vars(os)['environ']['LR']  # !\ny = os.__dict__['environ'].get('B')  # !\n",
        "x = __import__('os').environ['LR']  # !\n",
        "import os\nx = (os.environ or {})['LR']  # !\ny = 'LR' in (os.environ or {})  # !\n",
        "import os\nx = (os.environ if y else {}).get('LR')  # !\nz = (os.environ.get or f)('LR')  # !\n",
        "import os\nx = os.environ._data[b'LR']  # !\ny = os.environ.__or__({})['LR']  # !\n",
        "import os\nf = os.environ.update\nf = os.environ.get\nx = f('LR', 1)  # !\n",
        "import os\ndef a():\n    x = {}\n    def b():\n        def c():\n            nonlocal x\n"
        "            x = os.environ\n        c()\n    b()\n    return x['LR']  # !\n",
        "import importlib\nx = importlib.import_module('os').getenv('LR')  # !\n",
        "import sys\nx = sys.modules['os'].environ['LR']  # !\n",
        "import os\nx = globals()['os'].environ['LR']  # !\n",
        "import shutil\nx = shutil.os.environ['LR']  # !\n",
        "import posix\nx = posix.environ[b'LR']  # !\n",
        (
            "import os\ndef _e(k, d):\n    return os.environ.get(k, d)\ndef _f(k, d=1.0):\n"
            "    return float(_e(k, d))\nx = _f('LR')  # !\ny = _f('WD', d=0.1)  # !\nz = _f('RANK', 0)\n"
        ),
        (
            "import os\ndef _flag(name):\n    return os.environ.get('CFG_' + name.upper(), '0') == '1'\n"
            "x = _flag('fast')  # !\n"
        ),
        (
            "import os\nclass Cfg:\n    def _e(self, k):\n        return os.environ[k]\n"
            "    def __init__(self):\n        self.lr = self._e('LR')  # !\n"
        ),
        "import os\nenv = lambda k, d=None: os.environ.get(k, d)\nx = env('LR')  # !\n",
        "import os\nfrom functools import partial\nlr = partial(os.environ.get, 'LR')\nx = lr()  # !\n",
        (
            "import os\nfrom functools import partial\ndef e(k, d):\n    return os.environ.get(k, d)\n"
            "lr = partial(e, 'LR')\nx = lr('1')  # !\n"
        ),
        (
            "import os\nfrom dataclasses import dataclass, field\n@dataclass\nclass A:\n"
            "    lr: float = float(os.environ.get('LR', 1))  # !\n"
            "    wd: float = field(default_factory=lambda: os.environ['WD'])  # !\n"
        ),
        "import os\nclass A:\n    lr = os.environ['LR']  # !\n",
        "import os\ndef f(lr=os.environ.get('LR')):  # !\n    return lr\n",
        "import os\nx = {k: os.environ[k] for k in ('A', 'B')}  # !\n",
        "import os\nif (v := os.environ.get('LR')) is not None:  # !\n    x = v\n",
        "import os\nif (e := os.environ):\n    x = e['LR']  # !\n",
        "import os\nmatch os.environ:  # !\n    case {'LR': lr}:\n        x = lr\n",
        "import os\ndef env():\n    return os.environ\nx = env()['LR']  # !\n",
        (
            "import os\nclass A:\n    def __init__(self):\n        self.env = os.environ\n    def f(self):\n"
            "        return self.env['LR']  # !\n"
        ),
        "import os\ndef outer():\n    def inner(k):\n        return os.environ[k]\n    return inner('LR')  # !\n",
        "try:\n    import os as q\nexcept ImportError:\n    q = None\nx = q.environ['LR']  # !\n",
        "import os\ne = os.environ if True else {}\nx = e.get('LR')  # !\n",
        "import os\ndef with_env(f):\n    return lambda: f(os.environ)  # !\n",
        "import os\n@(lambda f: lambda: f(os.environ['LR']))  # !\ndef g(lr):\n    return lr\n",
        "import os, operator\nx = operator.attrgetter('environ')(os)['LR']  # !\n",
        "import os\na, b = os.environ, 1\nx = a['LR']  # !\n",
        "import os\nx = os.environ.copy()['LR']  # !\n",
        "import os\nx = f\"{os.environ['LR']}\"  # !\n",
        "import os\nkeys = list(map(os.environ.get, ['A']))  # !\n",
        "import os\ndef e(k):\n    return os.environ[k]  # !\nxs = list(map(e, ['A']))\n",
        "import os\nn = len(os.environ)  # !\n",
        "raw = open('/proc/self/environ').read()  # !\n",
        "from dotenv import load_dotenv  # !\n",
        "import os\nx: os.environ['LR'] = 1  # !\n",
        "import tempfile\nx = tempfile._os.environ.get('LR', '1')  # !\n",
        "import os\nm = {'a': os}\nx = m['a'].environ['LR']  # !\n",
        "import os\ndef f(m):\n    return m.environ['LR']  # !\nx = f(os)\n",
        "class C:\n    environ = {}\nimport os\nfor m in [os]:\n    x = m.environ['LR']  # !\n",
        "import os\nx = '{0.environ}'.format(os)  # !\n",
        "import os\nmatch os:\n    case object(environ=e):  # !\n        x = e\n",
        "import os, functools\nx = functools.reduce(getattr, ['environ'], os)  # !\n",
        "import os\nx = list(map(getattr, [os], ['env' + 'iron']))  # !\n",
        "import os, operator\nx = operator.methodcaller('get', 'LR')(os.environ)  # !\n",
        "import os, operator\ng = operator.attrgetter('environ')  # !\nx = g(os)['LR']\n",
        "import os\nx = os.__getattribute__('environ')['LR']  # !\n",
        "import pydoc\nx = pydoc.locate('os.environ')['LR']  # !\n",
        "import pkgutil\nx = pkgutil.resolve_name('os:environ')['LR']  # !\n",
        "import unittest.mock as u\nu.patch('os.environ').start()  # !\n",
        "import logging.config as c\nc.dictConfig({'formatters': {'a': {'()': 'os.getenv'}}})  # !\n",
        "import gc\nx = [o for o in gc.get_objects() if 'LR' in o]  # !\n",
        "import ctypes\nx = ctypes.CDLL(None).getenv(b'LR')  # !\n",
        "import os\nx = os.path.expandvars('$LR')  # !\n",
        "import shutil, getpass\nn = shutil.get_terminal_size().columns  # ! review\n"
        "u = getpass.getuser()  # ! review\n",
        "import os\nfrom gettext import gettext as _\n"
        "x = float(_('15'))  # ! review\ny = os.get_exec_path()[0]  # ! review\n",
        "import os\nx = os.popen('echo $LR').read()  # !\n",
        "import subprocess as s\nx = s.check_output(['printenv', 'LR'])  # !\ny = s.getoutput('env')  # !\n",
        "import os\nassert os.environ['A'] == '1'  # !\nlr = [1, 2][int(os.environ['I'])]  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found | Setting]:
        reads = find_reads(script)
        freezing = Freezing(script, reads)
        for read in reads:
            yield from self._said(script, read, freezing)
        yield from self._other_ways(script)

    def _said(self, script: Script, read: Read, freezing: Freezing) -> Iterator[Found | Setting]:
        key = script.values.constant(read.key, read.given)
        key = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        if read.kind == "write":
            name = f"`{key}`" if isinstance(key, str) else "a variable"
            yield Found(read.node, f"{name} is set for libraries that read it.", "Nothing to do.", "info")
            return
        if read.kind == "whole":
            what = "The whole environment is read here, so any setting may come from outside the file."
            yield Found(read.node, what, "Name what you need, and write its value in the file.")
            return
        drawn = drawn_keys(script, read) if key is UNKNOWN else []
        if drawn:
            for one in drawn:
                yield from self._one(script, read, one, freezing)
            return
        if not isinstance(key, str):
            source = script.tree.code(read.key) if read.key is not None else "?"
            what = f"A variable of the environment is read under the name `{source}`, which only the run knows."
            yield Found(read.node, what, "Write the value itself in the file.")
            return
        yield from self._one(script, read, key, freezing)

    def _one(self, script: Script, read: Read, key: str, freezing: Freezing) -> Iterator[Found | Setting]:
        allowed = script.policy.allows_env(key)
        if not allowed or key in script.policy.allow_env:
            yield self._setting(script, read, key)
        if not allowed:
            fix = (lambda: _edits(freezing, read)) if freezing.can(read) else None
            value = _written(script, read, freezing.shown(read) if fix is not None else "")
            remedy = f"Write the value there, as in `{key} = {value}`." if value else _WITHOUT_DEFAULT
            yield Found(read.node, f"The value of `{key}` comes from outside the file.", remedy, fix=fix)

    def _setting(self, script: Script, read: Read, key: str) -> Setting:
        default = script.values.constant(read.default, read.given)
        if default is UNKNOWN or not isinstance(default, Constant):
            text = script.tree.code(read.default) if read.default is not None else None
            return Setting(read.node, key, text, None)
        return Setting(read.node, key, default, _converted(script, read.node, default))

    def _other_ways(self, script: Script) -> Iterator[Found]:
        for place, what in find_detours(script):
            yield Found(place, what, "Write the values in the file.")
        for place, what in find_answers(script):
            yield Found(place, what, "Write the value in the file.", "review")
        for node in script.tree.both(cst.Import, cst.ImportFrom):
            module = _imported(node)
            if module in _READERS:
                what = f"`{module}` fills settings from the environment, which is outside the file."
                yield Found(node, what, "Write the values in the file.")


def _edits(freezing: Freezing, read: Read) -> list[Edit]:
    edit = freezing.of(read)
    return [] if edit is None else [edit]


def _written(script: Script, read: Read, repaired: str) -> str:
    """Return what to write for a setting: what a repair would write, else the default; empty where there is none."""
    if repaired and "\n" not in repaired:
        return clip(repaired, 200)
    known = script.values.constant(read.default, read.given) if read.given else UNKNOWN
    if isinstance(known, str | int | float):
        return repr(known)  # in a helper the default is only the name of what its callers give
    return clip(script.tree.code(read.default), 200) if read.default is not None else ""


def _converted(script: Script, node: cst.CSTNode, default: Constant) -> Constant:
    """Return the default as the script will see it, through `int(...)`, `float(...)`, `bool(...)` around the read."""
    arg = script.tree.parent(node)
    call = script.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or len(call.args) != 1 or default is None:
        return default
    try:
        value: Constant = _CONVERSIONS.get(call.func.value, lambda x: x)(default)
    except (ValueError, TypeError, OverflowError):
        return default
    return value


def _imported(node: cst.Import | cst.ImportFrom) -> str:
    if isinstance(node, cst.ImportFrom):
        return dotted(node.module) if node.module is not None and not node.relative else ""
    return next((dotted(a.name) for a in node.names if dotted(a.name) in _READERS), "")
