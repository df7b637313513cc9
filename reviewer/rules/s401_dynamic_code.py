"""S401 dynamic-code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.files.pickles import UNPICKLERS, is_carried
from reviewer.files.splits import is_own
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.packed.decoders import Unreadable
from reviewer.packed.running import RUNNERS, runs_decoded
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import IMPORTERS, Ref

# These run text, or call what they are given.
_TIMERS = frozenset({"timeit.timeit", "timeit.repeat", "timeit.Timer"})
_ANNOTATIONS = frozenset({"inspect.get_annotations", "inspect.signature", "inspect.Signature.from_callable"})
_WATCHED = RUNNERS | _ANNOTATIONS | _TIMERS | UNPICKLERS | IMPORTERS | {"builtins.getattr"}
_HANDED = {p for p in RUNNERS if not p.startswith("builtins.")}
_LOOKUPS = frozenset({"builtins.globals()", "builtins.locals()", "builtins.vars()", "sys.modules"})
# What these modules hold leads everywhere, so their tables are not gone through.
_OF_THE_PROCESS = ("os", "posix", "sys", "builtins", "importlib", "prepare")
_TABLES = frozenset(f"{module}.__dict__" for module in _OF_THE_PROCESS)
_HANDED_ON = {
    "exec": "what it runs",
    "eval": "what it runs",
    "getattr": "what it takes from which module",
    "__import__": "what it imports",
}


class DynamicCode(Rule):
    """Refuses code that is made while the script runs.

    What it looks for
        `exec`, `eval`, `compile` and their relatives, called or handed on under any name; imports, `getattr` on
        modules and look-ups in `globals()`, `vars(module)` or `sys.modules` whose name is not a constant; going through
        `sys.modules`, or all that `os`, `sys`, `builtins` or the kit holds; `__builtins__` of any object. Text that a
        profiler, a timer, a debugger or a library would run, that a logging configuration calls, or that annotations
        hold; pickles that the file carries. Modules imported from a folder that the run itself writes.

    Why it is refused
        The text that people read must be the program that runs. Code that comes out of a string, a file or a
        payload has not been audited.

    Do instead
        Write the code into the file. `getattr(torch, "bfloat16")` with a constant name is fine, and so are
        `torch.compile`, `re.compile` and `model.eval()`. Send a packed script unpacked.
    """

    code = "S401"

    VALID: ClassVar = (
        "import re, torch\nr = re.compile('x')\nm = torch.compile(torch.nn.Linear(1, 1))\nm.eval()\n",
        "import torch\nd = getattr(torch, 'bfloat16')\nn = getattr(object(), str(d), None)\n",
        "import inspect\ninspect.signature(f).parameters\ninspect.get_annotations(f, eval_str=False)\n",
        "import ast\nast.literal_eval('[1]')\n",
        "def eval(model):\n    return model\neval(3)\n",
        "import importlib\nm = importlib.import_module('math')\n",
        "import timeit, pickle\ndef f():\n    return pickle.dumps(1)\ntimeit.timeit(f)\ntimeit.timeit(lambda: 1)\n",
        "import torch\nw = torch.load('out/final.pt', weights_only=True)\ngetter = getattr(w, 'get')\n",
        "import pickle\nf = pickle.load(open('out/a', 'rb'))\n",
        "import sys\nm = sys.modules[__name__]\nx = globals()['m']\n",
        "import sys\nif 'wandb' in sys.modules:\n    pass\nv = vars(args).items()\nn = sorted(vars(self))\n",
        "import os, torch\ne = os.__dict__['path']\nfor k, v in vars(torch.nn).items():\n    print(k)\n",
        "import logging.config\nlogging.config.dictConfig({'version': 1, 'root': {'level': 'INFO'}})\n",
        "import sys, os\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nsys.path.append('.')\n",
        "import numpy as np\nnp.testing.assert_allclose(a, b)\nrun = frame.eval('a + b')\n",
    )
    INVALID: ClassVar = (
        "exec('x = 1')  # !\n",
        "f = eval  # !\nf('1')  # !\n",
        "import builtins as b\nb.exec('x')  # !\n",
        "getattr(__builtins__, 'ev' + 'al')('1')  # !\n",
        "import torch\ndef f(n):\n    return getattr(torch, n)  # !\n",
        "def f(n):\n    return __import__(n)  # !\n",
        "import sys\ndef f(n):\n    return sys.modules[n]  # !\n",
        "def f(n):\n    return globals()[n]  # !\n",
        "import os\ndef f(n):\n    return vars(os)[n]  # !\n",
        "x = f.__builtins__['exec']  # !\n",
        "from builtins import *\nfrom types import FunctionType as F\ng = F(c, {})  # !\n",
        "import runpy\nrunpy.run_path('other.py')  # !\n",
        "import base64, zlib\nexec(zlib.decompress(base64.b85decode('x')))  # !\n",
        "run = [exec]  # !\nlist(map(exec, ['x']))  # !\n",
        "import os\nfs = list(map(getattr, [os], names))  # !\n",
        "import pydoc\ndef f(n):\n    return pydoc.locate(n)  # !\n",
        "import pickle\nf = pickle.loads(b'cos\\ngetcwd\\n(tR.')  # !\n",
        "import pickle, base64\nP = 'abc'\nf = pickle.loads(base64.b85decode(P))  # !\n",
        "import timeit\ntimeit.timeit('x = 1')  # !\n",
        "import cProfile\ncProfile.run('x = 1')  # !\n",
        "import torch\nc = torch.jit.CompilationUnit('def f(x): return x')  # !\n",
        "import code\ncode.interact()  # !\ncode.InteractiveInterpreter().runsource('x')  # !\n",
        "import typing\nclass A:\n    pass\nA.__annotations__ = {'x': 'exit()'}\ntyping.get_type_hints(A)  # !\n",
        "import inspect\ninspect.get_annotations(f, eval_str=True)  # !\ninspect.signature(f, eval_str=E)  # !\n",
        "import doctest\ndoctest.testmod()  # !\n",
        "breakpoint()  # !\n",
        "from torch.utils.benchmark import Timer\nTimer(stmt='x = 1').timeit(1)  # !\n",
        "import torch.utils.benchmark as b\nt = b.Timer('x = 1')  # !\n",
        "import numpy as np\nnp.testing.runstring('x = 1', d)  # !\nf = np.testing.measure\nf('x = 1')  # !\n",
        "import torch\nm = torch._inductor.codecache.PyCodeCache.load('x = 1')  # !\n",
        "import sympy, pandas as pd\nsympy.sympify('1')  # !\npd.eval('1')  # !\n",
        "import os\nx = [v for k, v in vars(os).items() if k[:3] == 'env']  # !\n",
        "import os\nd = os.__dict__\nx = list(d.values())  # !\nfor k in d:  # !\n    pass\n",
        "import os\nx = dict(vars(os))  # !\ny = {**os.__dict__}  # !\nz = os.__dict__ | {}  # !\n",
        "import sys\nfor n, m in vars(sys).items():  # !\n    pass\n",
        "import sys\nfor n, m in sys.modules.items():  # !\n    pass\nx = list(sys.modules.values())  # !\n",
        "import inspect, os\nx = dict(inspect.getmembers(os))  # !\ny = [n for n in dir(os)]\n",
        "import logging.config as c\nc.dictConfig({'filters': {'a': {'()': 'a.b'}}})  # !\n",
        "import sys\nsys.path.append('out')  # !\nsys.path.insert(0, '/tmp/' + 'x')  # !\n",
        "importlib.util.find_spec('a').loader.exec_module(m)  # !\n",
        "from zipimport import zipimporter\nzipimporter('out/a.zip').load_module('a')  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for call in {id(call): call for _, call in script.calling(_WATCHED)}.values():
            yield from self._call(script, call)
        yield from self._mentions(script)
        yield from _gone_through(script)
        for path, node in script.handing_on(_HANDED):
            yield _found(node, f"`{path}` is handed on, to be called where nobody sees it", "Do without it.")
        for subscript in script.tree.of(cst.Subscript):
            paths = script.values.paths(subscript.value)
            if any(p in _LOOKUPS or p.endswith(".__dict__") for p in paths) and not _constant_key(script, subscript):
                yield _found(subscript, "a name is looked up that only the run knows", "Write the name itself.")
        for attribute in script.tree.of(cst.Attribute):
            if attribute.attr.value == "__builtins__":
                what = f"`.{attribute.attr.value}` leads from an object to the interpreter's own functions"
                yield _found(attribute, what, "Do without it; call what you need by its name.")

    def _call(self, script: Script, call: cst.Call) -> Iterator[Found]:
        paths = script.path_of(call)
        runner = next((p for p in paths if p in RUNNERS), None)
        if runner is not None and _is_unpacked(script, call):
            return  # another rule says that it is packed, and what is in it is judged like any script
        if runner is not None and (runs_decoded(script, call) or _is_refused(script, call)):
            why = f": {script.unpacked}" if isinstance(script.unpacked, Unreadable) else ""
            what = f"`{_short(runner)}` runs code that the file carries packed, so nobody can read what it is{why}"
            yield _found(call, what, "Send the script unpacked; its size in bytes is no criterion here.")
        elif runner is not None:
            what = f"`{_short(runner)}` runs code that is made only during the run"
            yield _found(call, what, "Write that code into the file.")
        elif any(p in _TIMERS for p in paths) and call.args and not script.values.of(call.args[0].value):
            yield _found(call, "a text is run as code here", "Hand over a function.")
        elif any(p in UNPICKLERS for p in paths):
            if is_carried(script, call):
                yield _found(call, "a pickle in the file can run any code when it is read", "Write out what it holds.")
        elif any(p in _ANNOTATIONS for p in paths):
            if any(_evaluates(script, arg) for arg in call.args):
                yield _found(call, "annotations that are texts are run as code here", "Leave out `eval_str`.")
        elif any(p in IMPORTERS for p in paths):
            if call.args and not isinstance(script.values.constant(call.args[0].value), str):
                yield _found(call, "what is imported here is known only during the run", "Import it by its name.")
        elif "builtins.getattr" in paths and len(call.args) >= 2:
            on_module = any(_is_module(p) for p in script.values.paths(call.args[0].value))
            if on_module and not isinstance(script.values.constant(call.args[1].value), str):
                what = f"which part of `{script.tree.code(call.args[0].value)}` is used is known only during the run"
                remedy = "Write the name itself, or choose from a dict of what it can be."
                yield _found(call, what, remedy, "warn" if _is_dtype(script, call) else "reject")

    def _mentions(self, script: Script) -> Iterator[Found]:
        """Find `exec` and its like handed on without a call: in an alias, a list, an argument."""
        for name in script.tree.of(cst.Name):
            if name.value in _HANDED_ON:
                parent = script.tree.parent(name)
                if isinstance(parent, cst.Call) and parent.func is name:
                    continue
                if isinstance(parent, cst.Attribute | cst.Param | cst.FunctionDef | cst.AssignTarget | cst.ImportAlias):
                    continue
                if isinstance(parent, cst.Arg) and parent.keyword is name:
                    continue
                if Ref(f"builtins.{name.value}") in script.values.of(name):
                    what = f"`{name.value}` is handed on, and {_HANDED_ON[name.value]} is known only during the run"
                    yield _found(name, what, "Call it where it is needed, on what can be read there.")


def _gone_through(script: Script) -> Iterator[Found]:
    """Find the tables of modules that are gone through as a whole, and what is loaded or called by its name alone."""
    tables: list[cst.CSTNode] = [call for _, call in script.calling(("builtins.vars",))]
    tables += [a for n in script.mentions.get("__dict__", ()) if (a := script.tree.parent(n)) is not None]
    for table in tables:
        if not _TABLES.isdisjoint(script.values.paths(table)):
            for use in _uses(script, table):
                if not isinstance(script.tree.parent(use), cst.Subscript | cst.ComparisonTarget):
                    yield _found(use, "all that a module holds is gone through here", "Write the name itself.")
    for name in script.mentions.get("modules", ()):
        loaded = script.tree.parent(name)
        if (
            isinstance(loaded, cst.Attribute)
            and "sys.modules" in script.values.paths(loaded)
            and _is_whole(script, loaded)
        ):
            yield _found(
                loaded, "every module of the process is gone through here", "Import what you need by its name."
            )
    for _, call in script.calling(("inspect.getmembers", "inspect.getmembers_static")):
        if call.args and not set(_OF_THE_PROCESS).isdisjoint(script.values.paths(call.args[0].value)):
            yield _found(call, "all that a module holds is gone through here", "Write the name itself.")
    for _, call in script.calling(("logging.config.dictConfig",) if "()" in script.text else ()):
        if any(script.values.constant(text) == "()" for text in script.tree.of(cst.SimpleString)):
            yield _found(call, "a configuration says by name what is called", "Call it in the file.")
    for _, call in script.calling(("sys.path.append", "sys.path.insert", "sys.path.extend", "site.addsitedir")):
        if any(is_own(f"{path}/") for arg in call.args[-1:] for path in _texts(script, arg.value)):
            yield _found(call, "modules are imported from a folder that the run writes", "Write them into the file.")
    for word in ("exec_module", "load_module"):
        for name in script.mentions.get(word, ()):
            method = script.tree.parent(name)
            call_ = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
            if isinstance(method, cst.Attribute) and isinstance(call_, cst.Call) and call_.func is method:
                yield _found(call_, "a module is loaded here whose text is not this file's", "Write it into the file.")


def _is_whole(script: Script, table: cst.CSTNode) -> bool:
    """Tell whether a table is gone through, and not asked for one entry or whether that is there."""
    above = script.tree.parent(table)
    if isinstance(above, cst.Attribute):
        return above.attr.value in ("items", "values", "copy", "keys", "__iter__")
    return isinstance(above, cst.For | cst.CompFor | cst.Arg | cst.StarredDictElement | cst.BinaryOperation)


def _texts(script: Script, node: cst.BaseExpression) -> list[str]:
    value = script.values.constant(node)
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)]


def _uses(script: Script, table: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a table, or, where it has a name, every place where that is read."""
    above = script.tree.parent(table)
    named = above.targets[0].target if isinstance(above, cst.Assign) else None
    if not isinstance(named, cst.Name):
        yield table
        return
    bindings = script.scopes.of(named).find(named.value)
    for name in script.mentions.get(named.value, ()):
        if name is not named and script.scopes.of(name).find(named.value) is bindings:
            yield name


def _is_unpacked(script: Script, call: cst.Call) -> bool:
    """Tell whether this is the `exec` of a readable shell, or the `compile` in it."""
    shell = script.shell
    return shell is not None and (call is shell or shell in script.tree.ancestors(call))


def _is_refused(script: Script, call: cst.Call) -> bool:
    """Tell whether this executes what could not be unpacked."""
    return call is script.last_call and isinstance(script.unpacked, Unreadable)


def _found(node: cst.CSTNode, what: str, remedy: str, at_most: Severity = "reject") -> Found:
    return Found(node, f"{what[0].upper()}{what[1:]}.", remedy, at_most)


def _evaluates(script: Script, arg: cst.Arg) -> bool:
    named = arg.keyword is not None and arg.keyword.value == "eval_str"
    return arg.star == "**" or (named and script.values.constant(arg.value) is not False)


def _is_dtype(script: Script, call: cst.Call) -> bool:
    """Tell whether `getattr(torch, name)` is only used as a type of numbers, as checkpoint readers do."""
    parent = script.tree.parent(call)
    if "torch" not in script.values.paths(call.args[0].value):
        return False
    if isinstance(parent, cst.Arg):
        above = script.tree.parent(parent)
        is_cast = (
            isinstance(above, cst.Call) and isinstance(above.func, cst.Attribute) and above.func.attr.value == "to"
        )
        return is_cast or (parent.keyword is not None and parent.keyword.value == "dtype")
    targets = parent.targets if isinstance(parent, cst.Assign) else ()
    names = {t.target.value for t in targets if isinstance(t.target, cst.Name)}
    are_dtypes = bool(names) and len(names) == len(targets) and all("dtype" in n for n in names)
    return are_dtypes and not names & script.called_names


def _short(path: str) -> str:
    return path.removeprefix("builtins.")


def _is_module(path: str) -> bool:
    """Guess from the spelling: modules are lower case and are not the result of a call."""
    last = path.rsplit(".", 1)[-1]
    return path != "builtins.self" and last.islower() and "(" not in path and not path.startswith("builtins.")


def _constant_key(script: Script, node: cst.Subscript) -> bool:
    index = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(index, cst.Index):
        return False
    if isinstance(index.value, cst.Name) and index.value.value == "__name__":
        return True
    return script.values.constant(index.value) is not UNKNOWN
