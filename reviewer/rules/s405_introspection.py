"""S405 introspection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.uses import once, taken, used
from reviewer.found import Found
from reviewer.matchers.inspected import read_sources
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script

_FRAMES = frozenset(
    [f"sys.{name}" for name in ("_getframe", "_getframemodulename", "_current_frames", "_current_exceptions")]
    + [f"inspect.{name}" for name in ("currentframe", "stack", "trace", "getouterframes", "getinnerframes")]
    + [f"inspect.{name}" for name in ("getframeinfo", "getargvalues", "getclosurevars", "getgeneratorlocals")]
    + [f"inspect.{name}" for name in ("getcoroutinelocals", "getasyncgenlocals")]
    + [f"traceback.{name}" for name in ("walk_stack", "walk_tb")]
)
_HEAP = frozenset(f"gc.{name}" for name in ("get_objects", "get_referrers", "get_referents"))
_WATCHERS = frozenset(
    [f"{m}.{f}{e}" for m in ("sys", "threading") for f in ("settrace", "setprofile") for e in ("", "_all_threads")]
    + [f"sys.monitoring.{name}" for name in ("register_callback", "set_events", "set_local_events", "use_tool_id")]
    + ["sys.call_tracing", "bdb.Bdb", "trace.Trace", "torch._C._dynamo.eval_frame.set_eval_frame"]
    + ["torch._dynamo.eval_frame.set_eval_frame"]
)
_MEMORY = frozenset({"ctypes.py_object", "_ctypes.PyObj_FromPtr"})
_WATCHED = _FRAMES | _HEAP | _WATCHERS | _MEMORY

_OF_FRAMES = "tb_frame f_locals f_globals f_builtins f_back f_trace gi_frame cr_frame ag_frame gi_yieldfrom"
_FRAME_NAMES = frozenset(_OF_FRAMES.split())
_OF_FUNCTIONS = "__globals__ func_globals __closure__ func_closure cell_contents __subclasses__"
_INSIDES = frozenset(_OF_FUNCTIONS.split())
_CODE = frozenset({"__code__", "func_code", "gi_code", "cr_code", "ag_code", "f_code"})
# What a signature says as well.
_SIGNATURE = (
    "co_argcount co_varnames co_name co_qualname co_firstlineno co_filename co_flags co_posonlyargcount "
    "co_kwonlyargcount co_nlocals"
)
_OF_A_SIGNATURE = frozenset(_SIGNATURE.split())
_NAMES = _FRAME_NAMES | _INSIDES | _CODE
_IN_A_TEXT = re.compile(rf"\{{[^{{}}]*\.(?:{'|'.join(sorted(_NAMES))})\b")
_REMEDY = "Hand over as an argument what a function needs, and keep to names that the file itself sets."


class Introspection(Rule):
    """Refuses to look into running code that is not the script's own.

    What it looks for
        Frames (`sys._getframe`, `inspect.currentframe`, `inspect.stack`, `traceback.walk_stack`, `tb_frame`, `f_back`,
        `f_locals`, `gi_frame` and the like), all objects of the process (`gc.get_objects`, `gc.get_referrers`), being
        called at every line (`sys.settrace`, `sys.setprofile`, `sys.monitoring`), the insides of functions
        (`__globals__`, `__closure__`, `__code__`), `__subclasses__`, objects by their address (`ctypes.pythonapi`,
        `ctypes.py_object`), and the source of code from elsewhere by `inspect.getsource`; by name, `getattr`,
        `attrgetter`, pattern or format string. `__code__` for what a signature says as well is only noted.

    Why it is refused
        From a frame or the heap a script reaches what it was never given: the kit's variables, the process that
        judges it, text that is held back. No model is trained better by it.

    Do instead
        Pass what is needed as an argument. `inspect.signature`, `traceback.print_exc`, `gc.collect`, `gc.freeze` and
        `type(x).__name__` are fine.
    """

    code = "S405"

    VALID: ClassVar = (
        "import inspect, torch\nfused = 'fused' in inspect.signature(torch.optim.AdamW).parameters\n",
        "import traceback, sys\ntry:\n    f()\nexcept Exception:\n    traceback.print_exc()\n"
        "    print(traceback.format_exc(), traceback.extract_stack(), sys.exc_info())\n",
        "import gc\ngc.collect()\ngc.freeze()\ngc.disable()\ngc.set_threshold(0)\n"
        "print(gc.get_stats(), gc.isenabled())\n",
        "print(type(x).__name__, x.__class__.__name__, A.__mro__, A.__bases__, f.__name__, f.__module__, f.__doc__)\n",
        "import inspect\ndef f():\n    pass\nprint(inspect.getsource(f))\n",
        "import inspect, sys\nprint(inspect.getsource(sys.modules[__name__]))\n",
        "def f(a):\n    return f.__code__.co_argcount, f.__code__.co_varnames[:1]\n",
        "import inspect\nok = inspect.isfunction(f), inspect.isclass(f), inspect.getdoc(f), inspect.getmodule(f)\n",
        "if hasattr(f, '__code__') or hasattr(f, '__closure__'):\n    pass\n",
        "class Gc:\n    def get_objects(self):\n        return []\nGc().get_objects()\n",
        "def settrace(x):\n    return x\nsettrace(1)\ndef stack(x):\n    return x\nstack([1])\n",
        "import torch\nx = torch.stack([a, b])\ny = torch.trace(a)\nz = x.stack\n",
        "frame = 1\nf_locals = 2\nprint(frame, f_locals, '{0.name}'.format(x))\n",
        "import sys\nprint(sys.getrefcount(x), sys.getsizeof(x), sys.version_info, sys.flags)\n",
    )
    INVALID: ClassVar = (
        "import sys\nf = sys._getframe(1)  # !\n",
        "from sys import _getframe as g\nx = g().f_back.f_globals['a']  # !\n",
        "import inspect as i\nf = i.currentframe()  # !\ng = i.stack()[1]  # !\nh = i.getouterframes(f)  # !\n",
        "import traceback\nfor f, n in traceback.walk_stack(None):  # !\n    print(f.f_locals)  # !\n",
        "try:\n    f()\nexcept Exception as e:\n    x = e.__traceback__.tb_frame  # !\n",
        "def g():\n    yield 1\nx = g()\nprint(x.gi_frame)  # !\nasync def c():\n    pass\n"
        "y = c().cr_frame.f_locals  # !\n",
        "import gc\nx = [o for o in gc.get_objects() if o]  # !\ny = gc.get_referrers(x)  # !\n"
        "z = gc.get_referents(x)  # !\n",
        "import gc\nlook = gc.get_objects\ndef f():\n    return look()  # !\n",
        "import gc\nf = getattr(gc, 'get_' + 'objects')\nx = f()  # !\n",
        "import sys, threading\nsys.settrace(f)  # !\nlist(map(sys.settrace, [f]))  # !\n"
        "threading.setprofile(f)  # !\nsys.setprofile(None)  # !\n",
        "import sys\nsys.monitoring.register_callback(0, 1, f)  # !\n",
        "x = ().__class__.__base__.__subclasses__()  # !\n",
        "import prepare\ng = prepare.record_step_boundary.__globals__  # !\n",
        "f = getattr(g, '__glo' + 'bals__')  # !\nh = g.__getattribute__('__closure__')  # !\n",
        "x = f.__closure__[0].cell_contents  # !\n",
        "import operator\nx = operator.attrgetter('__globals__')(f)  # !\n"
        "y = operator.attrgetter('gi_frame.f_back')(g)  # !\n",
        "match g:\n    case object(f_back=b):  # !\n        pass\n",
        "x = '{0.__globals__}'.format(f)  # !\ny = f'{g.__globals__}'  # !\n",
        "f.__code__ = g.__code__  # !\nh.__code__ = h.__code__.replace(co_consts=(1,))  # !\n",
        "c = f.__code__.co_consts  # !\n",
        "c = f.__code__.co_name, f.__closure__  # !\n",
        "import sys\nx = sys._current_frames()  # !\n",
        "import ctypes\nx = ctypes.pythonapi.PyEval_GetGlobals()  # !\n"
        "y = ctypes.cast(a, ctypes.py_object).value  # !\n",
        "import inspect, torch\nt = inspect.getsource(torch.optim.AdamW)  # !\n",
        "import inspect, prepare\nt = inspect.getsource(prepare)  # !\n"
        "l = inspect.getsourcelines(prepare.make_dataloader)  # !\n",
        "import inspect\nfrom prepare import evaluate_bpb\ndef show(x):\n    return inspect.getsource(x)\n"
        "show(evaluate_bpb)  # !\n",
        "import sys\nclass A:\n    look = sys._getframe\n    def f(self):\n        return self.look()  # !\n",
        "import inspect, functools\nf = functools.partial(inspect.currentframe)  # !\nf()  # !\n",
        "import inspect\nif (s := inspect.stack()):  # !\n    pass\nfs = [inspect.currentframe() for _ in x]  # !\n",
        "try:\n    import gc as q\nexcept ImportError:\n    q = None\nx = (lambda: q.get_objects())()  # !\n",
        "from gc import *\nx = get_objects()  # !\n",
        "x = __import__('sys')._getframe()  # !\n",
        "import torch\ntorch._dynamo.eval_frame.set_eval_frame(f)  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        seen: set[tuple[int, str]] = set()
        for found in self._everything(script):
            key = (id(_statement(script, found.node)), found.at_most)
            if key not in seen:  # `g().f_back.f_globals` is one look
                seen.add(key)
                yield found

    def _everything(self, script: Script) -> Iterator[Found]:
        for path, node in used(script, _WATCHED):
            yield _found(node, _said(path))
        for path, calls in script.called.items():
            if path.startswith("ctypes.pythonapi."):
                yield from (_found(call, "The interpreter is called past Python here") for call in calls)
        for name, node in once(taken(script, _NAMES)):
            yield from _attribute(script, name, node)
        if _IN_A_TEXT.search(script.text):
            for text in script.tree.of(cst.SimpleString):
                if _IN_A_TEXT.search(text.value):
                    yield _found(text, "A text is filled in with the insides of a function or a frame")
        for whose, node in read_sources(script):
            if whose == "foreign":
                yield _found(node, "The source of code from elsewhere is read here")


def _said(path: str) -> str:
    if path in _FRAMES:
        return f"`{path}` reaches into the code that is running"
    if path in _HEAP:
        return f"`{path}` hands out objects of the whole process"
    if path in _WATCHERS:
        return f"`{path}` has a function called from here on that can see and change what other lines do"
    return f"`{path}` makes an object of an address in memory"


def _attribute(script: Script, name: str, node: cst.CSTNode) -> Iterator[Found]:
    """Judge an attribute by what it leads to; of code objects, by what is asked of them."""
    if name not in _CODE:
        what = "the code that is running" if name in _FRAME_NAMES else "what was never handed over"
        yield _found(node, f"`.{name}` leads to {what}")
        return
    above = script.tree.parent(node)
    if isinstance(above, cst.Attribute) and above.attr.value in _OF_A_SIGNATURE:
        yield _found(node, f"`.{name}` is asked for what a signature says as well", "info")
    else:
        yield _found(node, f"`.{name}` is the compiled code of a function")


def _found(node: cst.CSTNode, what: str, at_most: Severity = "reject") -> Found:
    return Found(node, f"{what}.", _REMEDY, at_most)


def _statement(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    """Return the small statement around a place, or its part of the head of a block."""
    below = node
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.BaseSmallStatement):
            return above
        if isinstance(above, cst.BaseCompoundStatement):
            return below
        below = above
    return below
