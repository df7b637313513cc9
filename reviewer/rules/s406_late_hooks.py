"""S406 late-hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.dataflow.uses import used
from reviewer.files.writing import writes
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.matchers.stored import stored
from reviewer.matchers.tidying import only_tidies
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script

_AT_EXIT = frozenset({"atexit.register", "weakref.finalize", "multiprocessing.util.Finalize"})
_HOOKS_OF = (
    "threading._register_atexit os.register_at_fork multiprocessing.util.register_after_fork site.main site.addsitedir "
    "multiprocessing.resource_tracker.register sys.addaudithook gc.callbacks.append signal.setitimer signal.alarm "
    "signal.set_wakeup_fd faulthandler.register atexit._run_exitfuncs"
)
_LATER = frozenset(_HOOKS_OF.split())
_END = {
    "SIGTERM": 15, "SIGINT": 2, "SIGHUP": 1, "SIGUSR1": 10, "SIGUSR2": 12, "SIGQUIT": 3, "SIGPIPE": 13, "SIGCHLD": 17,
    "SIGCONT": 18, "SIGWINCH": 28,
}  # fmt: skip
_DEFAULTS = frozenset({"signal.SIG_DFL", "signal.SIG_IGN", "signal.default_int_handler"})
_HOOKS = frozenset({"excepthook", "unraisablehook", "displayhook", "breakpointhook", "__interactivehook__"})
_VARIABLES = frozenset({"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "LD_PRELOAD", "BASH_ENV"})
_CUSTOMIZING = ("sitecustomize", "usercustomize")
_REMEDY = "Do it where it belongs in the run, before the last step boundary, so that people read it in order."


class LateHooks(Rule):
    """Sends code that runs later than it stands, or in other processes, to a person.

    What it looks for
        `atexit.register`, `weakref.finalize` and `__del__` that do more than tidy up; `signal.signal` and
        `add_signal_handler` for other signals than those that end or ask a run (SIGTERM, SIGINT, SIGUSR1 and the
        like), timers by `signal.alarm` and `setitimer`; `sys.excepthook`, `threading.excepthook` and
        `sys.unraisablehook`; hooks for forks, audits and garbage collection; `sitecustomize`, `usercustomize` and
        `.pth` files; and variables that change what the next Python does at its start (`PYTHONSTARTUP`, `LD_PRELOAD`).
        What only closes, flushes or calls `destroy_process_group` is noted.

    Why it is refused
        A reader follows a script from top to bottom. What is left behind for the end of the process, for a timer or
        for the next interpreter runs when nobody looks, on checkpoints that are already thought to be finished.

    Do instead
        Write the checkpoint where the training ends, and from a handler of SIGTERM, which comes shortly before the
        time is up.
    """

    code = "S406"

    VALID: ClassVar = (
        "import atexit, torch.distributed as dist\natexit.register(dist.destroy_process_group)\n",
        "import atexit\nlog = open('out/log', 'w')\natexit.register(log.close)\natexit.register(lambda: log.flush())\n",
        "import atexit\ndef bye():\n    if dist.is_initialized():\n        dist.destroy_process_group()\n"
        "atexit.register(bye)\n",
        "import atexit\n@atexit.register\ndef bye():\n    pool.shutdown()\n    print('done')\n",
        "import signal, torch\ndef keep(*_):\n    torch.save(m, 'out/final.pt')\nsignal.signal(signal.SIGTERM, keep)\n",
        "import signal\nfor s in (signal.SIGTERM, signal.SIGINT):\n    signal.signal(s, lambda *_: stop.set())\n",
        "import signal\nsignal.signal(15, f)\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "signal.getsignal(signal.SIGALRM)\n",
        "from signal import signal, SIGUSR1\nsignal(SIGUSR1, f)\n",
        "class Loader:\n    def __del__(self):\n        self.pool.shutdown()\n        self.file.close()\n",
        "class Loader:\n    def __del__(self):\n        if hasattr(self, 'f'):\n            self.f.close()\n"
        "    def __exit__(self, *_):\n"
        "        train()\n",
        "import weakref\nr = weakref.ref(x)\nweakref.finalize(x, x.close)\n",
        "import torch\ntorch.save(m, 'out/model.pth')\nopen('out/model.pth', 'wb')\n",
        "def register(f):\n    return f\nregister(train)\nhandle = layer.register_forward_hook(f)\n",
        "import threading\nthreading.Timer(1, f).start()\nthreading.Thread(target=f, daemon=True).start()\n",
        "import faulthandler, os\nfaulthandler.enable()\nos.environ['PYTHONHASHSEED'] = '0'\n",
        "import sys\nhook = sys.excepthook\nsys.stdout.flush()\nclass A:\n    pass\nA().excepthook = 1\n",
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.alarm(0)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n",
    )
    INVALID: ClassVar = (
        "import atexit\natexit.register(train)  # !\n",
        "import atexit\ndef late():\n    torch.save(m, 'out/final.pt')\natexit.register(late)  # !\n",
        "import atexit\n@atexit.register  # !\ndef late():\n    optimizer.step()\n",
        "from atexit import register as r\nr(lambda: open('out/final.pt', 'wb').write(x))  # !\n",
        "import atexit\nf = atexit.register\nf(g, 1)  # !\nlist(map(atexit.register, [g]))  # !\n",
        "import atexit\ngetattr(atexit, 'reg' + 'ister')(work)  # !\n",
        "import atexit, functools\natexit.register(functools.partial(work, 1))  # !\n",
        "import weakref\nclass A:\n    pass\nweakref.finalize(A(), work)  # !\n",
        "import signal\nsignal.signal(signal.SIGALRM, f)  # !\nsignal.alarm(5)  # !\n",
        "import signal as s\ns.setitimer(s.ITIMER_PROF, 1, 1)  # !\ns.signal(s.SIGPROF, f)  # !\n",
        "import signal\ndef on(n, f):\n    signal.signal(n, f)\non(signal.SIGTERM, f)\non(signal.SIGVTALRM, f)  # !\n",
        "import signal\nfor s in (signal.SIGTERM, signal.SIGALRM):\n    signal.signal(s, f)  # !\n",
        "import signal\nsignal.signal(choose(), f)  # !\nsignal.signal(14, f)  # !\n",
        "import asyncio, signal\nasyncio.get_event_loop().add_signal_handler(signal.SIGALRM, f)  # !\n",
        "import sys\nsys.excepthook = f  # !\nsys.unraisablehook = lambda *_: work()  # !\n",
        "import threading, sys\nthreading.excepthook = f  # !\nsetattr(sys, 'except' + 'hook', f)  # !\n",
        "import sitecustomize  # !\n",
        "open('out/sitecustomize.py', 'w')  # !\nopen('/tmp/' + 'usercustomize.py', 'w')  # !\n",
        "open('out/x.pth', 'w').write('import os')  # !\nfrom pathlib import Path\n"
        "Path('out/a.pth').write_text('x')  # !\n",
        "import site\nsite.addsitedir('out')  # !\n",
        "class A:\n    def __del__(self):  # !\n        torch.save(self.m, 'out/final.pt')\n",
        "class A:\n    def __del__(self):  # !\n        self.late()\n    def late(self):\n        work()\n",
        "import os, threading\nos.register_at_fork(after_in_child=f)  # !\nthreading._register_atexit(f)  # !\n",
        "import sys, gc\nsys.addaudithook(f)  # !\ngc.callbacks.append(f)  # !\n",
        "import multiprocessing.util as u\nu.Finalize(None, work, exitpriority=1)  # !\n"
        "u.register_after_fork(a, f)  # !\n",
        "import os\nos.environ['PYTHONSTARTUP'] = 'out/a.py'  # !\nos.environ['LD_' + 'PRELOAD'] = 'out/a.so'  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for path, node in used(script, _AT_EXIT):
            yield from _at_exit(script, path, node)
        for path, node in used(script, _LATER):
            if path.startswith("signal.") and _cancels(script, node):
                continue
            yield _found(node, f"`{path}` leaves something behind that runs later, or elsewhere")
        yield from _signals(script)
        yield from _hooks(script)
        yield from _files(script)
        for name in script.mentions.get("__del__", ()):
            function = script.tree.parent(name)
            if isinstance(function, cst.FunctionDef) and function.name is name:
                severity: Severity = "info" if only_tidies(script, function) else "review"
                yield _found(
                    function, "`__del__` runs when nobody knows, at the latest when the process ends", severity
                )


def _at_exit(script: Script, path: str, node: cst.CSTNode) -> Iterator[Found]:
    work: cst.CSTNode | None = None
    if isinstance(node, cst.Call):
        at = 0 if path == "atexit.register" else 1
        work = node.args[at].value if len(node.args) > at else None
    elif isinstance(above := script.tree.parent(node), cst.Decorator):
        work = script.tree.parent(above)
    severity: Severity = "info" if work is not None and only_tidies(script, work) else "review"
    yield _found(node, f"`{path}` leaves work for the end of the process", severity)


def _cancels(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is `alarm(0)` or `setitimer(which, 0)`."""
    at = 1 if "signal.setitimer" in script.values.paths(node.func if isinstance(node, cst.Call) else None) else 0
    return isinstance(node, cst.Call) and len(node.args) == at + 1 and script.values.constant(node.args[at].value) == 0


def _signals(script: Script) -> Iterator[Found]:
    calls = [call for _, call in script.calling(("signal.signal",))]
    for name in script.mentions.get("add_signal_handler", ()):
        method = script.tree.parent(name)
        call = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
        calls += [call] if isinstance(call, cst.Call) and call.func is method else []
    for call in calls:
        handler = call.args[1].value if len(call.args) > 1 else None
        if _DEFAULTS.intersection(script.values.paths(handler)):
            continue
        for place, number in where_given(script, call, call.args[0].value if call.args else None):
            if not _is_end(script, number):
                yield _found(place, "A function is called by a signal here, at a moment that the text does not show")
    for _, node in script.handing_on(("signal.signal",)):
        yield _found(node, "`signal.signal` is handed on, so which signals are caught cannot be seen")


def _is_end(script: Script, number: cst.BaseExpression | None) -> bool:
    """Tell whether a signal is one of those that end a run, or ask it something; also each of a list of them."""
    if isinstance(number, cst.Name):
        bindings = script.scopes.of(number).find(number.value)
        if bindings and all(b.kind == "drawn" and isinstance(b.node, cst.List | cst.Tuple) for b in bindings):
            drawn = [e.value for b in bindings for e in b.node.elements]  # type: ignore[union-attr]
            return all(not isinstance(one, cst.Name) and _is_end(script, one) for one in drawn) or all(
                _is_named(script, one) for one in drawn
            )
    return _is_named(script, number)


def _is_named(script: Script, number: cst.BaseExpression | None) -> bool:
    paths = script.values.paths(number)
    value = script.values.constant(number)
    if value is not UNKNOWN:
        return value in _END.values()
    return bool(paths) and all(path.rpartition(".")[2] in _END for path in paths)


def _hooks(script: Script) -> Iterator[Found]:
    every = stored(script)
    for store in (one for name in sorted((_HOOKS | _VARIABLES) & every.keys()) for one in every[name]):
        if store.name in _HOOKS and not {"sys", "threading"}.isdisjoint(script.values.paths(store.base)):
            yield _found(store.node, f"`{store.name}` is replaced: it runs when something else has gone wrong")
        elif store.name in _VARIABLES and "os.environ" in script.values.paths(store.base):
            yield _found(store.node, f"`{store.name}` decides what the next Python does at its start")


def _files(script: Script) -> Iterator[Found]:
    """Find what Python runs by itself at its next start."""
    for node in script.tree.both(cst.Import, cst.ImportFrom) if "customize" in script.text else ():
        if any(word in script.tree.code(node) for word in _CUSTOMIZING):
            yield _found(node, "This module is run by Python itself, before any script")
    if "customize" in script.text or ".pth" in script.text:
        for write in writes(script):
            name = script.values.constant(write.path)
            spelled = name if isinstance(name, str) else script.tree.code(write.path).rstrip("\"')")
            if any(word in spelled for word in _CUSTOMIZING) or (write.text and spelled.endswith(".pth")):
                yield _found(write.path, "Python runs this file by itself at its next start")


def _found(node: cst.CSTNode, what: str, at_most: Severity = "review") -> Found:
    return Found(node, f"{what}.", _REMEDY if at_most == "review" else "Nothing to do.", at_most)
