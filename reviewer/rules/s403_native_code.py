"""S403 native-code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.uses import taken, used
from reviewer.found import Found
from reviewer.matchers.native import COMPILING, DRIVERS, LOADING, PACKAGES, UNMISTAKABLE
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import IMPORTERS

_REMEDY = "Write it in PyTorch, Triton or NKI, if you can; else say in the method note what it is for."
_ALWAYS = COMPILING | LOADING
# Types of plain numbers: what shared memory of `multiprocessing` is made of.
_HARMLESS = ("c_", "sizeof", "_SimpleCData")


class NativeCode(Rule):
    """Sends code that is not Python to a person.

    What it looks for
        Imports of `ctypes`, `cffi` and other bridges, unless only types of numbers such as `c_int` are taken from
        them; `torch.utils.cpp_extension`, `torch.ops.load_library`, `torch.classes.load_library`, compiled packages of
        AOTInductor, extension modules loaded by path; CUDA or Metal sources given to NVRTC, CuPy, `compile_shader` or
        `_compile_kernel`. Kernels in Triton, NKI, Numba and other languages that are written as Python are no
        finding, nor is `torch.library.custom_op` around Python.

    Why it is refused
        Nothing in the text says what a library or an address does: native code reads the environment, the memory of
        the process and the clock without a word that an audit can see. A person has to read it.

    Do instead
        Write the kernel in Triton or NKI, or use what PyTorch has.
    """

    code = "S403"

    VALID: ClassVar = (
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x, n: tl.constexpr):\n    tl.store(x, n)\n"
        "k[(1,)](x, n=2)\n",
        "from neuronxcc import nki\n@nki.jit\ndef k(x):\n    return x\n",
        "import torch\n@torch.library.custom_op('a::b', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x\n@f.register_fake\ndef _(x):\n    return x\n",
        "import numba\n@numba.njit\ndef f(x):\n    return x\nfrom numba import cuda\n@cuda.jit\ndef g(x):\n    pass\n",
        "import ctypes, multiprocessing as mp\nn = mp.Value(ctypes.c_int, 0)\na = mp.Array(ctypes.c_float, 3)\n",
        "from ctypes import c_int, c_double\nfrom multiprocessing import Value\n"
        "v = Value(c_int, 0), Value(c_double, 0)\n",
        "import torch\nm = torch.compile(m, mode='max-autotune')\ntorch.ops.aten.mm(a, b)\nx = torch.ops.mylib.f(a)\n",
        "import numpy as np\np = np.zeros(3).ctypes\nx = torch.zeros(3).data_ptr()\n",
        "def load(name):\n    return name\nload('a')\ndef load_library(x):\n    return x\nload_library('b')\n",
        "import torch\ntorch.load('out/a', weights_only=True)\nm.load_state_dict(s)\ntorch.jit.script(f)\n",
        "from torch.utils.cpp_extension import CUDA_HOME\nprint(CUDA_HOME)\n",
        "import cupy as cp\nx = cp.asarray([1]) + 1\n",
        "from torch.utils import dlpack\nx = dlpack.from_dlpack(y)\n",
        "import cutlass\nfrom cutlass import cute\n@cute.jit\ndef f(x):\n    pass\nprint('ctypes', 'CDLL')\n",
    )
    INVALID: ClassVar = (
        "import ctypes  # !\nlib = ctypes.CDLL(None)\nx = lib.getenv(b'LR')\n",
        "import ctypes as c  # !\nlibc = c.cdll.LoadLibrary('libc.so.6')\n",
        "from ctypes import CDLL as load  # !\nx = load('libcudart.so').cudaDeviceSetLimit(5, 128)\n",
        "from ctypes import *  # !\nx = cdll['libc.so.6']\n",
        "import ctypes.util  # !\nx = ctypes.util.find_library('c')\n",
        "import ctypes  # !\nx = ctypes.c_int.from_address(id(3))\n",
        "import ctypes  # !\nc = [ctypes]\nc[0].memmove(a, b, 8)\n",
        "def f():\n    try:\n        import ctypes  # !\n    except ImportError:\n        return\n"
        "    ctypes.memset(a, 0, 8)\n",
        "c = __import__('ctypes')  # !\n",
        "import importlib\nf = lambda: importlib.import_module('cty' + 'pes').CDLL(None)  # !\n",
        "import sys\nx = sys.modules['ctypes'].CDLL(None)  # !\n",
        "import uuid\nx = uuid.ctypes.CDLL(None)  # !\n",
        "import numpy as np\nl = np.ctypeslib.load_library('a', '.')  # !\nm = np.ctypeslib.ctypes.cdll.a()  # !\n",
        "import cffi  # !\nffi = cffi.FFI()\nffi.cdef('int f();')\nl = ffi.dlopen(None)\n",
        "from torch.utils.cpp_extension import load_inline\nm = load_inline('a', 'int f();')  # !\n",
        "import torch.utils.cpp_extension as e\nm = e.load('a', ['a.cpp'])  # !\n",
        "import torch\ntorch.ops.load_library('out/a.so')  # !\ntorch.classes.load_library('out/b.so')  # !\n",
        "import torch\nlist(map(torch.ops.load_library, names))  # !\nfs = {'a': torch.ops.load_library}  # !\n",
        "import torch\nf = getattr(torch.ops, 'load_' + 'library')\nf('a.so')  # !\n",
        "import cupy\nk = cupy.RawKernel('extern \"C\" __global__ void f() {}', 'f')  # !\n",
        "from cupy import RawModule as M\nm = M(code=SOURCE)  # !\n",
        "import torch\nk = torch.cuda._compile_kernel('__global__ void f() {}', 'f')  # !\n",
        "import torch\nl = torch.mps.compile_shader('kernel void f() {}')  # !\n",
        "from cuda import nvrtc\ne, p = nvrtc.nvrtcCreateProgram(b'', b'a.cu', 0, [], [])  # !\n",
        "from cuda.bindings import nvrtc, driver as d\np = nvrtc.nvrtcCreateProgram(b'')  # !\nd.cuInit(0)  # !\n",
        "import torch\nm = torch._inductor.aoti_load_package('out/m.pt2')  # !\n",
        "import importlib.machinery as m\nm.ExtensionFileLoader('a', 'out/a.so').load_module()  # !\n",
        "from functools import partial\nimport torch\nf = partial(torch.ops.load_library, 'a.so')  # !\nf()  # !\n",
        "def f(m):\n    return m.CDLL(None)  # !\n",
        "class A:\n    @property\n    def lib(self):\n        import _ctypes  # !\n"
        "        return _ctypes.dlopen('a', 0)\n",
        "match m:\n    case object(CDLL=load):  # !\n        load(None)\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        said: set[int] = set()
        imported = False
        plain: dict[str, bool] = {}  # by the statement: what one says, another says as well
        for statement in script.tree.both(cst.Import, cst.ImportFrom):
            if not (package := _package(script, statement)):
                continue
            code = script.tree.code(statement)
            if code not in plain:
                plain[code] = _only_numbers(script, statement, package)
            if not plain[code]:
                imported = True
                yield _found(statement, f"`{package}` runs code that is not Python")
        for path, node in (*used(script, _ALWAYS), *_elsewhere(script)):
            package = path.partition(".")[0]
            if script.policy.allows_import(path.removesuffix("()"), package if package in PACKAGES else None):
                continue
            if id(node) not in said and not (imported and package in PACKAGES):
                said.add(id(node))
                how = "compiles" if path in COMPILING or path.startswith(DRIVERS) else "loads"
                yield _found(node, f"`{path.removesuffix('()')}` {how} code that is not Python")
        for name, node in taken(script, UNMISTAKABLE):
            above = script.tree.parent(node)
            whole = above if isinstance(above, cst.Call) and node is not above else node
            if not _is_known(script, node) and id(whole) not in said and not imported:
                said.add(id(whole))
                yield _found(whole, f"`.{name}` seems to load code that is not Python")


def _found(node: cst.CSTNode, what: str) -> Found:
    return Found(node, f"{what}.", _REMEDY, "review")


def _is_known(script: Script, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and bool(script.values.of(node))


def _package(script: Script, node: cst.Import | cst.ImportFrom) -> str:
    if isinstance(node, cst.ImportFrom):
        names = [dotted(node.module)] if node.module is not None and not node.relative else []
    else:
        names = [dotted(alias.name) for alias in node.names]
    native = (name for name in names if name.partition(".")[0] in PACKAGES)
    return next((name for name in native if not script.policy.allows_import(name, name.partition(".")[0])), "")


def _only_numbers(script: Script, node: cst.Import | cst.ImportFrom, package: str) -> bool:
    """Tell whether nothing but types of numbers is taken from a package, and nothing of those but the types."""
    if isinstance(node, cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar):
            return False
        names = [dotted(alias.name) for alias in node.names]
        bound = [
            dotted(alias.asname.name) if alias.asname else name for alias, name in zip(node.names, names, strict=True)
        ]
        return all(name.startswith(_HARMLESS) for name in names) and all(_is_plain(script, name) for name in bound)
    alias = next(a for a in node.names if dotted(a.name) == package)
    if "." in dotted(alias.name):
        return False
    name = dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name)
    for mention in script.mentions[name]:
        above = script.tree.parent(mention)
        if isinstance(above, cst.ImportAlias | cst.AsName):
            continue
        if not (isinstance(above, cst.Attribute) and above.value is mention and above.attr.value.startswith(_HARMLESS)):
            return False
        if isinstance(script.tree.parent(above), cst.Attribute):
            return False  # `c_int.from_address`
    return True


def _is_plain(script: Script, name: str) -> bool:
    return not any(isinstance(script.tree.parent(mention), cst.Attribute) for mention in script.mentions[name])


def _elsewhere(script: Script) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield the calls on a package of native code that was reached in another way than by its import."""
    for path, calls in script.called.items():
        if path.startswith(DRIVERS):
            yield from ((path, call) for call in calls)
        elif "ctypes" in path or "cffi" in path:
            head, _, last = path.rpartition(".")
            if "(" not in path and not last.startswith(_HARMLESS) and not PACKAGES.isdisjoint(head.split(".")):
                yield from ((path, call) for call in calls)
    for _, call in script.calling(IMPORTERS):
        name = script.values.constant(call.args[0].value) if call.args else None
        if isinstance(name, str) and name.partition(".")[0].partition(":")[0] in PACKAGES:
            yield f"{path}()", call
