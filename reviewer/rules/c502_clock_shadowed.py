"""C502 clock-shadowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.matchers.shadows import Shadow, imported, shadows
from reviewer.rules.base import Rule
from reviewer.scope import Scope
from reviewer.script import Script
from reviewer.values import Own

_FUNCTIONS = (
    "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns thread_time "
    "thread_time_ns clock_gettime clock_gettime_ns sleep localtime gmtime strftime"
)
_OF_TIME = frozenset(_FUNCTIONS.split())
_CLOCKS = frozenset(
    ["time", "timeit.default_timer", "datetime", "datetime.datetime", "datetime.datetime.now"]
    + [f"time.{name}" for name in _OF_TIME]
)
_METHODS = _OF_TIME | {"now", "utcnow", "today", "datetime", "timestamp"}
_NAMES = _OF_TIME - {"sleep", "strftime", "localtime", "gmtime"}
_MODULES = ("time.", "timeit.", "datetime.")
_REMEDY = "Leave the clock its name, and give what is not the clock another."


class ClockShadowed(Rule):
    """Refuses other things under the name of a clock.

    What it looks for
        A name that was imported from `time` (or is `timeit.default_timer` or `datetime`) and becomes something else in
        the same file, in any scope, by assignment, `def`, `class`, a default or `globals()`, and is then called as a
        clock; and imports that give the name of a clock to what is none, as in `import fake as time`. A variable that
        happens to be called `time` is fine: nobody calls a number. Attributes of the module `time` that are set are
        another rule's.

    Why it is refused
        Step times and remaining seconds in a log come from these calls. A reader has to be able to believe that
        `time.perf_counter()` is the clock. The platform's own clock is outside and is not moved by it.

    Do instead
        Call the clock by its own name. `elapsed = time.perf_counter() - start` needs no more.
    """

    code = "C502"

    VALID: ClassVar = (
        "import time\nt = time.time()\nstart = time.perf_counter()\ntime.sleep(1)\n",
        "def f(step, total):\n    time = step / total\n    return time * 2\nimport time\nt0 = time.time()\n",
        "from time import time\nt = time()\ndef f(x):\n    time = x\n    return time + 1\n",
        "try:\n    from time import perf_counter\nexcept ImportError:\n    from time import time as perf_counter\n"
        "perf_counter()\n",
        "import time\nperf_counter = time.perf_counter\nx = perf_counter()\n",
        "import time as t\nfor t in range(3):\n    print(t)\n",
        "from timeit import default_timer as time\nx = time()\n",
        "import time\nclass Timer:\n    def time(self):\n        return time.time()\nTimer().time()\n",
        "from datetime import datetime\nimport datetime as dt\nprint(datetime.now(), dt.datetime.now())\n",
        "from asyncio import sleep\nimport time\nasync def f():\n    await sleep(1)\n    time.sleep(1)\n",
        "import time\ndef f(clock=time.perf_counter):\n    return clock()\ndef g(time=time):\n    return time.time()\n",
        "def perf_counter():\n    return 0\nclass FakeTime:\n    pass\n",
        "from time import perf_counter\nperf_counter = perf_counter\nperf_counter()\n",
        "import time\ndef main():\n    import time\n    return time.time()\n",
        "import torch\nstart = torch.cuda.Event(enable_timing=True)\ntime = start.elapsed_time(end)\nprint(time)\n",
        "from time import time as now\nt = now()\nstep_time = now() - t\nmonotonic = True\n",
    )
    INVALID: ClassVar = (
        "import time\nclass FakeTime:\n    def time(self):\n        return 0\ntime = FakeTime()  # !\n"
        "t = time.time()\n",
        "from time import perf_counter\ndef perf_counter():  # !\n    return 0\nt = perf_counter()\n",
        "from time import perf_counter\nperf_counter = lambda: 0  # !\nt = perf_counter()\n",
        "from time import perf_counter as now\nnow = lambda: now_at  # !\nt = now()\n",
        "import time\nimport fake as time  # !\nt = time.perf_counter()\n",
        "from kit import slow_clock as time  # !\nt = time()\n",
        "from x import y as perf_counter  # !\ndef f():\n    return perf_counter()\n",
        "import time\ndef f():\n    time = Clock()  # !\n    return time.perf_counter()\n",
        "import time\ndef main():\n    global time\n    time = Clock()  # !\ndef f():\n    return time.time()\n",
        "from time import monotonic\nglobals()['monotonic'] = lambda: 0  # !\nmonotonic()\n",
        "import time\nclass time:  # !\n    perf_counter = staticmethod(lambda: 0)\ntime.perf_counter()\n",
        "from time import perf_counter\nif slow:\n    perf_counter = functools.partial(f, 1)  # !\nperf_counter()\n",
        "from time import time\ntime, x = (lambda: 0), 1  # !\ntime()\n",
        "import time\nimport types\ntime = types.SimpleNamespace(time=lambda: 0)  # !\ntime.time()\n",
        "from time import time\nif (time := Clock):  # !\n    time()\n",
        "import time\ndef f(time=Clock()):  # !\n    return time.time()\n",
        "import sys\nfrom time import time\nsetattr(sys.modules[__name__], 'time', f)  # !\ntime()\n",
        "from time import sleep\ndef sleep(s):  # !\n    pass\nsleep(3)\n",
        "import datetime\ndatetime = Fake()  # !\ndatetime.datetime.now()\n",
        "import time\nwith patched() as time:  # !\n    time.time()\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        names = imported(script, _CLOCKS.__contains__)
        called = _Called(script)
        seen: set[int] = set()
        for shadow in shadows(script, names):
            if (
                id(shadow.node) not in seen
                and _is_other(script, shadow)
                and called(shadow.name, _scope(script, shadow))
            ):
                seen.add(id(shadow.node))
                what = f"`{shadow.name}` is the clock `{shadow.path}`, and stands for something else here."
                yield Found(shadow.node, what, _REMEDY)
        for statement, name, path in _imports(script):
            if called(name, script.scopes.of(statement)):
                yield Found(statement, f"`{path}` is imported under the name of a clock, `{name}`.", _REMEDY)


def _is_other(script: Script, shadow: Shadow) -> bool:
    """Tell whether the new meaning can be called, and is no clock."""
    binding, value = shadow.binding, shadow.value
    if binding is None or binding.kind == "def":
        return True
    values = script.values.of(value)
    if any(isinstance(one, Own) for one in values):
        return True
    paths = script.values.paths(value)
    if paths and all(path in _CLOCKS or path.removesuffix("()") in _CLOCKS for path in paths):
        return False  # a clock, or what a clock says
    return isinstance(value, cst.Call | cst.Lambda) or (bool(paths) and binding.kind != "drawn")


def _scope(script: Script, shadow: Shadow) -> Scope:
    scope = shadow.binding.scope if shadow.binding is not None else script.scopes.module
    return script.scopes.module if shadow.name in scope.outer else scope


class _Called:
    """Tells whether a name is called as a clock where it has the meaning of a scope."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._meanings: dict[str, set[int]] = {}  # by name: the ids of the bindings that it is called with

    def __call__(self, name: str, scope: Scope) -> bool:
        if name not in self._meanings:
            script = self._script
            uses = (node for node in script.mentions[name] if _is_call(script, node))
            self._meanings[name] = {id(script.scopes.of(node).find(name)) for node in uses}
        return id(scope.names.get(name)) in self._meanings[name]


def _is_call(script: Script, node: cst.Name) -> bool:
    """Tell whether this is the clock of a call: `time()`, `time.time()`, `datetime.datetime.now()`."""
    below: cst.CSTNode = node
    above = script.tree.parent(node)
    method = ""
    while isinstance(above, cst.Attribute) and above.value is below:
        method = method or above.attr.value
        below, above = above, script.tree.parent(above)
    return isinstance(above, cst.Call) and above.func is below and (not method or method in _METHODS)


def _imports(script: Script) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """Yield imports that give the name of a clock to what has another name."""
    for scope in list(script.scopes.all()):
        for name in _NAMES & scope.names.keys():
            for binding in scope.names[name]:
                other = binding.kind == "ref" and not f"{binding.path}.".startswith(_MODULES)
                if other and binding.node is not None and binding.path.rpartition(".")[2] != name:
                    yield binding.node, name, binding.path
