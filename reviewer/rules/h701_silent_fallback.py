"""H701 silent-fallback."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.endings import Tested, ends, statements
from reviewer.found import Edit, Found
from reviewer.matchers.idle_attempts import idle_attempts
from reviewer.matchers.too_early import always_failing
from reviewer.nodes import children
from reviewer.repairs.closing import unfolded
from reviewer.rules.base import Rule
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import IMPORTERS

# What these do, or others in their place, changes neither the model nor its speed.
_HARMLESS = frozenset([
    "GPUtil", "IPython", "aim", "colorama", "comet_ml", "google", "humanize", "ipdb", "loguru", "matplotlib", "mlflow",
    "neptune", "nvidia_smi", "orjson", "pandas", "prepare", "prettytable", "psutil", "py3nvml", "pynvml", "rich",
    "seaborn", "setproctitle", "simplejson", "swanlab", "tabulate", "tensorboard", "tensorboardX", "termcolor", "tomli",
    "tqdm", "trackio", "typing_extensions", "ujson", "wandb", "yaml",
])  # fmt: skip
_KERNEL = re.compile(r"flash|fused|triton|kernel|xformers|transformer_engine|fp8|float8|(^|[._])(nki|ops)([._]|$)")
Fix = Callable[[], Sequence[Edit]]

_COMPILERS = frozenset(
    {"torch.compile", "torch.jit.script", "torch.jit.trace", "torch.cuda.graph", "torch.cuda.CUDAGraph"}
)
_FINDERS = ("importlib.util.find_spec", "importlib.find_loader", "pkgutil.find_loader")
_WHY = "Where it cannot be had, the run stops and says so."
_REMEDY = "Let it raise: a run had better stop than train another program than the one that was meant."


class SilentFallback(Rule):
    """Warns of a slower path that a run takes without saying so.

    What it looks for
        An `except`, or a `suppress`, around the import of a package, a compilation or the call of a kernel, that goes
        on without raising; `find_spec` in its place; `suppress_errors` of the compiler; an attempt that reads a name
        bound only below it and so always fails. Not a finding: a handler that raises or ends the program, also where
        that happens later, at a test of what the handler has set; an import of which nothing is used, nor the flag
        that tells of it; packages that only log or draw; modules of the standard library; `nvidia-smi`.

    Why it is refused
        It is not, it is a warning. On a host where the fast path fails, the run trains at a fraction of its speed and
        ends with a worse score, and nobody can tell from the result.

    Do instead
        Import what you need without a `try`. Print what was found and raise if it is not what you measured with.
        `submit --fix --also H701` lets it raise; without `--also` the repair leaves it alone.
    """

    code = "H701"

    VALID: ClassVar = (
        "import flash_attn\n",
        "try:\n    import flash_attn\nexcept ImportError:\n    print('no flash')\n    raise\n",
        "try:\n    import flash_attn\nexcept ImportError as e:\n    raise SystemExit('flash_attn is needed') from e\n",
        "try:\n    import wandb\nexcept ImportError:\n    wandb = None\n",
        "try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n",
        "try:\n    import rich.table, tqdm\nexcept Exception:\n    pass\n",
        "import subprocess\ntry:\n    subprocess.run(['nvidia-smi'])\nexcept FileNotFoundError:\n    pass\n",
        "try:\n    import flash_attn\n    HAS = True\nexcept ImportError:\n    HAS = False\nassert HAS\n",
        "try:\n    import triton\nexcept ImportError:\n    triton = None\nif triton is None:\n    raise RuntimeError\n",
        "try:\n    import zstandard\n    KIND = 'zstd'\nexcept ImportError:\n    KIND = 'zlib'\n",
        "import sys, torch\ntry:\n    m = torch.compile(m)\nexcept Exception:\n    sys.exit(1)\n",
        "def stop():\n    raise SystemExit(1)\ntry:\n    import triton\nexcept ImportError:\n    stop()\n",
        "try:\n    fused_step()\nexcept KeyboardInterrupt:\n    pass\n",
        "try:\n    fused_step()\nfinally:\n    close()\n",
        "try:\n    def f():\n        import triton\nexcept ValueError:\n    pass\n",
        "import importlib.util as u\nif u.find_spec('flash_attn') is None:\n    raise ImportError('flash_attn')\n",
        "try:\n    x = int(text)\nexcept ValueError:\n    x = 0\n",
        "import math as F\nX = 0\ntry:\n    X = F.pi\nexcept Exception:\n    pass\nimport cmath as F\n",
        "X = 0\ntry:\n    X = F.pi\nexcept OSError:\n    pass\nimport math as F\n",
        "X = 0\ntry:\n    import math as F\n    X = F.pi\nexcept Exception:\n    pass\nimport cmath as F\n",
        "X = 0\ntry:\n    f = lambda: F.pi\nexcept Exception:\n    pass\nimport math as F\n",
        "def f():\n    try:\n        return F.pi\n    except Exception:\n        return 0\nimport math as F\n",
    )
    INVALID: ClassVar = (
        "try:\n    import flash_attn\nexcept ImportError:  # !\n    flash_attn = None\n",
        "try:\n    from flash_attn_interface import f\nexcept Exception as e:  # !\n    print(e)\n    f = None\n",
        "try:\n    import fast\nexcept ImportError:  # !\n    import slow as fast\n",
        "try:\n    import flash_attn\n    HAS = True\nexcept ImportError:  # !\n    HAS = False\nprint(HAS)\n",
        "try:\n    import apex as a\n    HAS = True\nexcept ImportError:  # !\n    HAS = False\nf = getattr(a, 'b')\n",
        "import torch\ntry:\n    model = torch.compile(model)\nexcept Exception:  # !\n    pass\n",
        "from torch import compile as c\ntry:\n    m = c(m)\nexcept:  # !\n    pass\n",
        "try:\n    y = fused_attention(q, k)\nexcept RuntimeError:  # !\n    y = attention(q, k)\n",
        "try:\n    import triton\nexcept ImportError:  # !\n    if strict:\n        raise\n",
        "import contextlib\nwith contextlib.suppress(ImportError):  # !\n    import xformers\n",
        "from contextlib import suppress as s\nimport torch\nwith s(Exception):  # !\n    m = torch.compile(m)\n",
        "import importlib.util\nHAS = importlib.util.find_spec('flash_attn') is not None  # !\n",
        "import torch\ntorch._dynamo.config.suppress_errors = True  # !\n",
        "import importlib as i\ntry:\n    f = i.import_module('flash_attn')\nexcept ImportError:  # !\n    f = None\n",
        "try:\n    if cuda:\n        import apex\nexcept ImportError:  # !\n    pass\n",
        "X = 0\ntry:\n    X = F.pi  # !\nexcept Exception:\n    pass\nimport math as F\n",
        "X = 0\ntry:\n    import re\n    X = re.sub(F.d).e  # !\nexcept:\n    print('no')\nfrom math import sin as F\n",
        "class Exit(Exception):\n    pass\ntry:\n    import triton\nexcept ImportError:  # !\n    Exit()\n",
    )

    FIXED: ClassVar = (
        (
            "try:\n    import flash_attn  # fast\nexcept ImportError:\n    flash_attn = None\nprint(flash_attn)\n",
            "import flash_attn  # fast\nprint(flash_attn)\n",
        ),
        (
            "def f(q):\n    try:\n        y = fused_attention(q)\n    except RuntimeError:\n        print('slow')\n"
            "        y = attention(q)\n    else:\n        print('fast')\n    return y\nf(1)\n",
            "def f(q):\n    try:\n        y = fused_attention(q)\n    except RuntimeError:\n        raise\n"
            "    else:\n        print('fast')\n    return y\nf(1)\n",
        ),
        (
            "import contextlib\nimport torch\nwith contextlib.suppress(Exception):\n    m = torch.compile(m)\n",
            "import torch\nm = torch.compile(m)\n",
        ),
    )

    def check(self, script: Script) -> Iterator[Found]:
        tested = Tested(script)
        idle = {id(attempt) for attempt, *_ in idle_attempts(script)}
        for attempt in script.tree.both(cst.Try, cst.TryStar):
            if id(attempt) in idle:
                continue  # there is nothing to go on without
            silent = [h for h in attempt.handlers if not _is_about_others(script, h) and not ends(script, h.body)]
            if silent and (what := _risked(script, attempt.body)):
                for handler in silent:
                    if not tested(_set_by(handler)):
                        yield _found(handler, what, partial(_raising, script, attempt, handler))
        for _, early in always_failing(script):
            text = f"`{early.value}` is bound only below, so this attempt always fails, and the run goes on in silence."
            yield Found(early, text, "Move the import up, and let it raise.")
        for block in script.tree.of(cst.With):
            suppressing = any(
                isinstance(i.item, cst.Call) and "contextlib.suppress" in script.path_of(i.item) for i in block.items
            )
            if suppressing and (what := _risked(script, block.body)):
                lone = len(block.items) == 1
                yield _found(block, what, partial(_unguarded, script, block) if lone else None)
        for _, call in script.calling(_FINDERS):
            name = script.values.constant(call.args[0].value) if call.args else None
            if isinstance(name, str) and _is_foreign(name) and not _asked_to_raise(script, call, tested):
                yield _found(call, f"`{name}`")
        for assign in script.tree.of(cst.Assign):
            target = assign.targets[0].target
            is_it = isinstance(target, cst.Attribute) and target.attr.value == "suppress_errors"
            if is_it and script.values.constant(assign.value) is not False:
                yield Found(assign, "Where the compiler fails, the run goes on without it in silence.", _REMEDY)


def _found(node: cst.CSTNode, what: str, fix: Fix | None = None) -> Found:
    return Found(node, f"Where {what} is not to be had, the run goes on without it in silence.", _REMEDY, fix=fix)


def _raising(script: Script, attempt: cst.Try | cst.TryStar, handler: cst.CSTNode) -> list[Edit]:
    """Return what lets an attempt fail aloud: what it tries stays, and what it would do instead goes."""
    if len(attempt.handlers) == 1 and attempt.orelse is None and attempt.finalbody is None:
        return _unguarded(script, attempt)
    lines = handler.body.body  # type: ignore[attr-defined]
    return [Edit(lines[0], "raise", _WHY), *(Edit(line, "") for line in lines[1:])]


def _unguarded(script: Script, block: cst.Try | cst.TryStar | cst.With) -> list[Edit]:
    return [Edit(block, unfolded(script, block, block.body), _WHY)]


def _risked(script: Script, body: cst.CSTNode) -> str:
    """Return the first import, compilation or kernel in a block, not looking into functions; empty if there is none."""
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            continue
        if isinstance(node, cst.Import | cst.ImportFrom):
            name = next((n for n in _imported(node) if _is_foreign(n)), "")
            if name:
                return f"`{name}`"
        elif isinstance(node, cst.Call):
            called = [*script.path_of(node), dotted(node.func)]
            if any(p in _COMPILERS or _KERNEL.search(p) for p in called) or _is_compile(node):
                return f"`{script.tree.code(node.func)}`"
            if any(p in IMPORTERS for p in called):
                name = next((p for p in script.values.paths(node) if _is_foreign(p)), "")
                if name:
                    return f"`{name}`"
        todo.extend(reversed(list(children(node))))
    return ""


def _imported(node: cst.Import | cst.ImportFrom) -> list[str]:
    if isinstance(node, cst.Import):
        return [dotted(alias.name) for alias in node.names]
    return [dotted(node.module)] if node.module is not None and not node.relative else []


def _is_foreign(name: str) -> bool:
    """Tell whether a module is neither of the standard library nor one that only logs or draws."""
    root = name.partition(".")[0]
    return root not in sys.stdlib_module_names and root not in _HARMLESS


def _is_compile(call: cst.Call) -> bool:
    """Tell whether this is `model.compile()`."""
    return (
        isinstance(call.func, cst.Attribute) and call.func.attr.value == "compile" and dotted(call.func.value) != "re"
    )


def _is_about_others(script: Script, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    paths = script.values.paths(handler.type)
    return bool(paths) and all(p in ("builtins.KeyboardInterrupt", "builtins.StopIteration") for p in paths)


def _set_by(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> set[str]:
    assigns = [s for s in statements(handler.body) if isinstance(s, cst.Assign)]
    return {t.target.value for a in assigns for t in a.targets if isinstance(t.target, cst.Name)}


def _asked_to_raise(script: Script, call: cst.Call, tested: Tested) -> bool:
    for above in script.tree.ancestors(call):
        if isinstance(above, cst.If):
            return ends(script, above.body) or (isinstance(above.orelse, cst.Else) and ends(script, above.orelse.body))
        if isinstance(above, cst.Assert):
            return True
        if isinstance(above, cst.Assign):
            return tested({t.target.value for t in above.targets if isinstance(t.target, cst.Name)})
    return False
