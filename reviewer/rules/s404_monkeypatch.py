"""S404 monkeypatch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.code_values import is_code, is_same
from reviewer.dataflow.meant import Meant
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.matchers.attributes import CHANGING, Store, stores
from reviewer.matchers.patchable import DECIDING, TABLES, WATCHED, foreign, is_settings, is_torch_operator
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import Own, Ref

_MOCKS = re.compile(
    r"^(?:unittest\.)?mock\.patch(?:\.object|\.multiple|\.dict)?$|\.MonkeyPatch\(\)\.(?:setattr|delattr|setitem)$"
)
_OTHERS = frozenset([
    "wrapt.wrap_function_wrapper", "wrapt.patch_function_wrapper", "wrapt.wrap_object", "forbiddenfruit.curse",
    "forbiddenfruit.curses", "gorilla.apply", "gorilla.patch", "gorilla.patches",
])  # fmt: skip
_RELOAD = ("importlib.reload", "imp.reload")
_OPERATORS = frozenset([
    "torch.library.Library", "torch.library.impl", "torch.library.register_kernel", "torch.library.register_autograd",
    "torch.library.impl_abstract", "torch.library.register_fake", "torch.library.register_torch_dispatch",
])  # fmt: skip
_MODES = frozenset([
    "torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch.TorchDispatchMode",
])  # fmt: skip
_GLOBAL_HOOKS = tuple(
    f"torch.nn.modules.module.register_module_{kind}_hook"
    for kind in ("forward", "forward_pre", "buffer_registration", "module_registration", "parameter_registration")
)
_HANDED = frozenset(["builtins.setattr", "builtins.delattr", "builtins.object.__setattr__", "types.MethodType"])
_CODE = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__class__"})
_FORWARD = frozenset({"forward", "__call__", "_call_impl"})
_MODULE = frozenset([
    "eval", "train", "load_state_dict", "state_dict", "parameters", "named_parameters", "buffers", "to", "half",
    "__getattr__", "__setattr__", "_apply",
])  # fmt: skip
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*\Z")
_READ = "Leave it as it is; write a function of your own and call that."
_OWN = "Write it into the class itself, so that it stands where it is read."


class Monkeypatch(Rule):
    """Refuses code that is replaced while it runs, in the kit, in torch or in Python itself.

    What it looks for
        New attributes of the kit, of torch (its modules, classes and operators), of `builtins`, `time` and other
        parts of Python, however they are set: `a.b = f`, `setattr`, `vars(a)[...]`, `a.__dict__.update(...)`, in a
        loop or in a helper. Entries of `sys.modules`, import hooks, `importlib.reload`, `unittest.mock.patch`, and
        operators of torch that are registered anew. A person looks at methods of the script's own classes that are
        set afterwards, at `types.MethodType`, at a changed `__class__` or `__code__`, and at modes and hooks that
        stand before every function of torch. Configuration is free: `torch.backends...`, `torch._dynamo.config...`,
        and so are plain attributes of objects, and `f = torch.compile(f)`.

    Why it is refused
        What a line says is no longer what it does: a loss, a clock, a loader or a step boundary under its old name
        is another one. It is also how results were forged on other contests.

    Do instead
        Write a function or a class of your own, with a name of its own, and call it where it is meant.
    """

    code = "S404"

    VALID: ClassVar = (
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\ntorch.backends.cudnn.benchmark = FAST\n"
        "torch._dynamo.config.recompile_limit = 64\ntorch._inductor.config.triton.cudagraphs = False\n",
        "import torch._inductor.config as config\nconfig.coordinate_descent_tuning = True\n"
        "from torch._dynamo import config as dynamo\ndynamo.cache_size_limit = 9\n",
        "import torch\nfor name in ('max_autotune', 'epilogue_fusion'):\n"
        "    setattr(torch._inductor.config, name, True)\n",
        "import os, sys, warnings, threading\nos.environ['OMP_NUM_THREADS'] = '1'\nsys.path.insert(0, 'a')\n"
        "sys.stdout = open('out/log', 'w')\nwarnings.filterwarnings('ignore')\nthreading.excepthook = print\n",
        "import torch\ntorch.manual_seed(1)\ntorch.set_float32_matmul_precision('high')\nw = torch.zeros(3)\n"
        "w.grad = None\nw.custom = print\nm = torch.nn.Linear(1, 1)\nm.weight.data = w\nm.note = 3\n",
        "import torch.nn as nn\nclass GPT(nn.Module):\n    qat = False\n    def __init__(self):\n"
        "        super().__init__()\n        self.act = nn.functional.relu\n        self.head = nn.Linear(1, 1)\n"
        "GPT.qat = True\nmodel = GPT()\nmodel.depth = 3\nmodel.name: str = 'a'\n",
        "import torch\nclass GPT(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
        "GPT.forward = torch.compile(GPT.forward, dynamic=False)\nm = GPT()\n"
        "m.forward = torch.compile(m.forward)\nm.forward = torch.compile(mode='max-autotune')(m.forward)\n",
        "def swap(model, make):\n    for name, child in model.named_children():\n"
        "        setattr(model, name, make(child))\n        setattr(child, 'fp8', True)\n",
        "class Settings:\n    def __init__(self, **given):\n        for name, value in given.items():\n"
        "            setattr(self, name, value)\n            object.__setattr__(self, name, value)\n",
        "def step():\n    step.count += 1\nstep.count = 0\nstep.__name__ = 'step'\n",
        "import sys\nif 'torch' in sys.modules and sys.modules.get('x') is None:\n    print(len(sys.modules))\n"
        "this = sys.modules[__name__]\nthis.depth = 4\n",
        "import numpy as np, torch\nnp.set_printoptions(precision=3)\n"
        "t = {'torch': 1}\nt['torch'] = 2\nt.update(a=1)\n",
        "import torch\n@torch.library.custom_op('mine::mm', mutates_args=())\n"
        "def mm(x: torch.Tensor) -> torch.Tensor:\n    return x @ x\n@mm.register_fake\ndef _(x):\n    return x\n"
        "lib = torch.library.Library('mine', 'FRAGMENT')\n",
        "import torch\nopt = torch.optim.AdamW([torch.zeros(1)])\nfor group in opt.param_groups:\n"
        "    group['lr'] = 0.1\nopt.sharded = True\n",
        "import prepare\nprepare.TRAIN_TIME_BUDGET_SECONDS = 9\n",  # C503 says it
        "import time\ntime = 3\n",  # C502 says it
        "import torch\nwith torch._dynamo.config.patch(suppress_errors=False):\n    pass\n",
        "import torch\nclass Block(torch.nn.Module):\n    def __init__(self):\n        self.forward = "
        "torch.compile(self.forward)\n",
        "from unittest.mock import patch\nimport os\nwith patch.dict(os.environ, {'A': '1'}):\n    pass\n",
        "def patch(x):\n    return x\npatch('time.time')\nreload = patch\nreload(3)\n",
    )
    INVALID: ClassVar = (
        "import prepare\nprepare.record_step_boundary = lambda step: None  # !\n",
        "import prepare as kit\nkit.make_dataloader, x = mine, 1  # !\nkit._boundary_fifo = None  # !\n",
        "import prepare\nsetattr(prepare, 'evaluate_bpb', mine)  # !\ndelattr(prepare, 'print0')  # !\n",
        "from prepare import Tokenizer\nTokenizer.encode = mine  # !\nTokenizer.decode.__code__ = f.__code__  # !\n",
        "import torch.nn.functional as F\nF.cross_entropy = mine  # !\ndel F.nll_loss  # !\n",
        "from torch.nn import functional\nold = functional.linear\ndef new(*a):\n    return old(*a) * 2\n"
        "functional.linear = new  # !\n",
        "import torch\ntorch.Tensor.backward = lambda self: None  # !\ntorch.nn.Linear.forward = mine  # !\n"
        "torch.load = mine  # !\ntorch.pi = 3  # !\ntorch.nn.Linear.bias = None  # !\n",
        "import torch\nf = torch\nvars(f)['compile'] = mine  # !\nf.nn.__dict__['Linear'] = mine  # !\n"
        "f.__dict__.update(save=mine)  # !\nd = f.optim.__dict__\nd['AdamW'] = mine  # !\n",
        "import torch\ngetattr(torch, 'n' + 'n').Linear = mine  # !\n__import__('torch').save = mine  # !\n",
        "import torch\ndef put(where, name, what):\n    setattr(where, name, what)  # !\nput(torch, 'save', print)\n",
        "import torch\ndef deeper(m):\n    m.time = print  # !\ndef put(m):\n    deeper(m)\nput(torch)\n",
        "import torch, time\nfor module, name in ((torch, 'save'), (time, 'time')):\n"
        "    setattr(module, name, print)  # !\nMODULES = [time]\nfor m in MODULES:\n    m.sleep = print  # !\n",
        "import torch\nhome = {'a': torch}\nhome['a'].save = print  # !\n(t := torch).load = print  # !\n",
        "import torch\nclass Box:\n    inner = torch\nBox.inner.save = print  # !\nBox().inner.load = print  # !\n",
        "import torch\nmatch torch:\n    case module:\n        module.save = print  # !\n",
        "import torch\n(torch if FAST else None).save = print  # !\n[torch][0].load = print  # !\n"
        "(lambda: torch)().save = print  # !\n",
        "import time\ntime.time = lambda: 0.0  # !\ntime.monotonic = time.perf_counter = print  # !\n",
        "import builtins\nbuiltins.print = mine  # !\n__builtins__.open = mine  # !\n__builtins__['len'] = mine  # !\n",
        "import sys\nsys.modules['prepare'] = mine  # !\ndel sys.modules['torch']  # !\n"
        "sys.modules.update(time=mine)  # !\nsys.modules.pop('json')  # !\nsys.modules |= {'a': 1}  # !\n",
        "import sys as s\ns.meta_path.insert(0, Finder())  # !\n"
        "s.path_hooks.append(f)  # !\ns.meta_path = []  # ! review\n"
        "s.modules['prepare'].print0 = print  # !\n",
        "import operator, sys\noperator.setitem(sys.modules, 'torch', 1)  # !\n"
        "operator.setitem(vars(sys), 'exit', 1)  # ! review\n",
        "from unittest import mock\nwith mock.patch('time.time', f):  # !\n    pass\n@mock.patch.object(x, 'y')  # !\n"
        "def f():\n    pass\n",
        "from unittest.mock import patch as p\np('prepare.record_step_boundary').start()  # !\n",
        "import importlib, prepare\nimportlib.reload(prepare)  # !\nfrom importlib import reload as r\nr(x)  # !\n",
        "import torch, functools\nput = functools.partial(setattr, torch)  # !\n"
        "list(map(setattr, [torch], ['save'], [f]))  # !\n",
        "import torch\nput = setattr\nput(torch, NAME, print)  # !\nobject.__setattr__(torch, 'save', print)  # !\n"
        "type(torch).__setattr__(torch, 'load', print)  # !\ntorch.__setattr__('jit', print)  # !\n",
        "class GPT:\n    def forward(self, x):\n        return x\ndef fast(self, x):\n    return x\n"
        "GPT.forward = fast  # ! review\nsetattr(GPT, 'forward', fast)  # ! review\n"
        "GPT.other = lambda self: 1  # ! review\n",
        "import types\nfrom types import MethodType as Bound\nclass GPT:\n    def forward(self, x):\n        return x\n"
        "m = GPT()\nm.forward = types.MethodType(f, m)  # ! review\n"
        "m.eval = Bound(f, m)  # ! review\ng = Bound(f, m)  # ! review\n",
        "class GPT:\n    def forward(self, x):\n        return x\nclass Other(GPT):\n    pass\nm = GPT()\n"
        "m.__class__ = Other  # ! review\nGPT.forward.__code__ = Other.forward.__code__  # ! review\n",
        "class GPT:\n    def __init__(self):\n        self.forward = self.fast  # ! review\n"
        "    def fast(self, x):\n        return x\n",
        "import torch\nlib = torch.library.Library('aten', 'IMPL')  # !\n"
        "@torch.library.impl('aten::mm', 'CPU')  # !\ndef mm(a, b):\n    return a\n",
        "import torch\nfrom torch.overrides import TorchFunctionMode\n"
        "class Mode(TorchFunctionMode):  # ! review\n    pass\n"
        "torch.nn.modules.module.register_module_forward_hook(f)  # ! review\n",
        "import torch, numpy\ndef mine(x):\n    return x\nnumpy.load = mine  # ! review\n"
        "torch._inductor.config.post_grad_custom_pre_pass = mine  # ! review\n",
        "from prepare import *\nTokenizer.encode = print  # !\n",
        "import torch\nfor torch.save in [print]:  # !\n    pass\nwith x as torch.load:  # !\n    pass\n",
        "import torch\nclass GPT(torch.nn.Module):\n    torch.save = print  # !\n    def forward(self, x):\n"
        "        torch.nn.functional.softmax = print  # !\n        return x\n",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\ndef f():\n    def g():\n"
        "        torch.save = print  # !\n    g()\n",
        "import torch, prepare\nprepare.torch.manual_seed = print  # !\nprepare._CONSTANTS['seed'] = 1  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        meant = Meant(script)
        said: set[int] = set()
        for store in stores(script):
            found = _judged(script, meant, store)
            if found is not None and id(found.node) not in said:
                said.add(id(found.node))
                if store.value is not None:
                    said.add(id(store.value))
                yield found
        for found in _elsewhere(script, meant):
            if id(found.node) not in said:
                said.add(id(found.node))
                yield found


def _judged(script: Script, meant: Meant, store: Store) -> Found | None:
    """Say what is wrong with setting one attribute, if anything is."""
    base, name = store.base, store.name
    values = [] if type(base) is cst.Name and base.value == "self" else meant.of(base)
    paths = [v.path for v in values if isinstance(v, Ref)]
    for path in paths:
        if "(" not in path and (found := _foreign(script, store, path)) is not None:
            return found
    if store.by_key:
        return None
    if name in _CODE:
        return Found(store.node, f"`{name}` is replaced: what was written is not what runs.", _OWN, "review")
    if not is_code(script, store.value) or is_same(script, base, name, store.value):
        return None
    shown = f"{script.tree.code(base)}.{name}"
    if any(isinstance(v, Own) and isinstance(v.node, cst.ClassDef) for v in values):
        return Found(store.node, f"`{shown}` is set after its class has been written.", _OWN, "review")
    if name in _FORWARD or (type(base) is cst.Name and base.value != "self" and _is_method(script, name)):
        return Found(store.node, f"`{shown}` replaces a method of an object.", _OWN, "review")
    return None


def _is_method(script: Script, name: str | None) -> bool:
    """Tell whether a layer, or some class of the script, has a method of this name."""
    return name in _MODULE or any(b.kind == "def" for b in script.scopes.members.get(name or "", ()))


def _foreign(script: Script, store: Store, path: str) -> Found | None:
    """Say what is wrong with setting an attribute or an entry of something that the script does not define."""
    name = store.name
    if store.by_key:
        if path not in TABLES and path != "builtins.__builtins__" and not path.startswith("prepare."):
            return None
        whole = "builtins" if path == "builtins.__builtins__" else path
        what = f"An entry of `{whole}` is replaced: others find something else under that name."
        return Found(store.node, what, _READ)
    if path == "prepare" and name is not None and _CONSTANT.match(name):
        return None  # another rule speaks of the kit's constants
    kind = foreign(path, name)
    if kind is None:
        return None
    full = f"{path}.{name}" if name is not None else f"something of {path}"
    what, severity = f"`{full}` is replaced: under its old name it is something else from here on.", kind
    if name is None:
        what = f"Which part of `{path}` is replaced here is known only during the run."
    if is_settings(path):
        if not is_code(script, store.value):
            return None
        return Found(store.node, f"`{full}` is given a function of the script, which others call.", _READ, "review")
    if kind == "review" and not is_code(script, store.value):
        return None
    plain = script.values.constant(store.value) is not UNKNOWN and path.split(".")[0] not in DECIDING
    if plain or is_same(script, store.base, name, store.value):
        severity = "review"
    return Found(store.node, what, _READ, severity)


def _elsewhere(script: Script, meant: Meant) -> Iterator[Found]:
    """Find what patches without an assignment."""
    for path, calls in script.called.items():
        if path in _OTHERS or ("atch" in path and _MOCKS.search(path)):
            for call in calls:
                yield from _mocked(script, meant, call)
        else:
            home, _, method = path.rpartition(".")
            if method in CHANGING and home in TABLES:
                for call in calls:
                    yield Found(call, f"`{home}` is changed: imports find something else from here on.", _READ)
    for _, call in script.calling(_RELOAD):
        deciding = any(_is_deciding(v) for a in call.args[:1] for v in meant.of(a.value))
        what = "A module is loaded again, and what was taken from it before is no longer what it has now."
        yield Found(call, what, "Import it once.", "reject" if deciding else "review")
    for path, call in script.calling(_OPERATORS):
        if is_torch_operator(script, call):
            yield Found(call, f"`{path}` replaces an operator of torch itself.", _READ)
    for _, call in script.calling(_GLOBAL_HOOKS):
        what = "This hook runs before or after every layer there is, and can change what it says."
        yield Found(call, what, "Write it into the layer that it is meant for.", "review")
    if "TorchFunctionMode" in script.text or "TorchDispatchMode" in script.text:
        for cls in script.tree.of(cst.ClassDef):
            if any(path in _MODES for one in cls.bases for path in script.values.paths(one.value)):
                what = "While this mode is active, functions of torch are what it makes of them."
                yield Found(cls, what, "Write a function of your own and call that.", "review")
    for _, call in script.calling(("types.MethodType",)):
        yield Found(call, "A method is bound to an object while the script runs.", _OWN, "review")
    for path, node in script.handing_on(_HANDED):
        above = script.tree.parent(node)
        call_ = script.tree.parent(above) if above is not None else None
        others = call_.args if isinstance(call_, cst.Call) else ()
        deciding = any(_is_deciding(v) for arg in others for v in _within(meant, arg.value))
        what = f"`{path.removeprefix('builtins.')}` is handed on: what it sets is known only during the run."
        yield Found(node, what, "Set what you mean by its name.", "reject" if deciding else "review")


def _within(meant: Meant, node: cst.BaseExpression) -> Iterator[Own | Ref]:
    yield from meant.of(node)
    if isinstance(node, cst.List | cst.Tuple):
        for element in node.elements:
            yield from meant.of(element.value)


def _mocked(script: Script, meant: Meant, call: cst.Call) -> Iterator[Found]:
    first = call.args[0].value if call.args else None
    named, values = script.values.constant(first), meant.of(first)
    if named == "os.environ" or any(isinstance(v, Ref) and v.path == "os.environ" for v in values):
        return  # other rules speak of the environment
    own = bool(values) and all(isinstance(v, Own) for v in values)
    what = "Something is replaced here for as long as a test would need it."
    yield Found(call, what, _READ, "review" if own else "reject")


def _is_deciding(value: Own | Ref) -> bool:
    return isinstance(value, Ref) and value.path.split(".")[0] in WATCHED
