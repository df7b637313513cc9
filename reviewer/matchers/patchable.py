"""What of the kit, of torch and of Python decides about a score, and what is only configuration."""

from __future__ import annotations

import builtins
import re

import libcst as cst

from reviewer.report import Severity
from reviewer.script import Script

KIT = "prepare"
# The kit, torch, and the modules that the kit and the interpreter work with.
WATCHED = frozenset([
    KIT, "torch", "builtins", "time", "_thread", "abc", "argparse", "codecs", "collections", "concurrent", "contextlib",
    "copy", "copyreg", "ctypes", "dataclasses", "datetime", "enum", "errno", "fcntl", "functools", "gc", "importlib",
    "inspect", "io", "itertools", "json", "marshal", "math", "mmap", "multiprocessing", "operator", "os", "pathlib",
    "pickle", "posix", "posixpath", "random", "re", "resource", "select", "shutil", "signal", "socket", "struct",
    "subprocess", "sys", "tempfile", "threading", "tokenizers", "types", "typing", "zipfile", "zlib",
])  # fmt: skip
DECIDING = frozenset({KIT, "torch", "builtins", "time"})  # where even a number in the place of another is no setting
# Tables in which the interpreter looks for modules.
TABLES = frozenset({"sys.modules", "sys.meta_path", "sys.path_hooks", "sys.path_importer_cache"})
# What is meant to be set, or what other rules speak about.
_MEANT = frozenset([
    "sys.stdout", "sys.stderr", "sys.stdin", "sys.excepthook", "sys.unraisablehook", "sys.displayhook", "sys.path",
    "sys.argv", "sys.dont_write_bytecode", "sys.tracebacklimit", "sys.pycache_prefix", "sys.ps1", "sys.ps2",
    "threading.excepthook", "os.environ", "tempfile.tempdir", "random.seed_value", "sys.last_traceback",
])  # fmt: skip
_SETTINGS = re.compile(
    r"^torch\.(?:.*\.)?(?:_?config|backends|options|flags|_logging|triton|aot_inductor|_export)(?:\.|$)"
)
_OPERATOR = re.compile(r"(?:aten|prims|prim|c10d|_c10d_functional|quantized|inductor)(?:::|\Z)")


def foreign(path: str, name: str | None) -> Severity | None:
    """Say how severe it is at most that code of this module or class is replaced; None where nobody minds."""
    root, _, rest = path.partition(".")
    if name is not None and f"{path}.{name}" in _MEANT:
        return None
    if path in _MEANT or any(path.startswith(f"{one}.") for one in _MEANT):
        return None
    within = rest.split(".")[0] if root == "builtins" and rest != "__builtins__" else ""
    if within and not callable(getattr(builtins, within, None)):
        return None  # a constant, or a name that nobody binds
    if path.startswith("__main__"):
        return None
    return "reject" if root in WATCHED else "review"


def is_settings(path: str) -> bool:
    """Tell whether this holds switches and numbers that torch documents as its configuration."""
    return _SETTINGS.search(path) is not None


def is_torch_operator(script: Script, call: cst.Call) -> bool:
    """Tell whether what is registered here is one of torch's own operators."""
    if not call.args:
        return False
    first = call.args[0].value
    name = script.values.constant(first)
    if isinstance(name, str):
        return _OPERATOR.match(name) is not None
    return any(path.startswith(("torch.ops.aten", "torch.ops.prims")) for path in script.values.paths(first))
